package vectors

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Network is what is public of the network that vectors are made for.
type Network struct {
	ChainID               uint64 `json:"chainId"`
	GenesisTime           uint64 `json:"genesisTime"`
	SlotSeconds           uint64 `json:"slotSeconds"`
	SlotsPerEpoch         uint64 `json:"slotsPerEpoch"`
	GenesisForkVersion    string `json:"genesisForkVersion"`
	GenesisValidatorsRoot string `json:"genesisValidatorsRoot"`
	// BuilderDomain is the domain of signatures on submissions, bids and registrations.
	BuilderDomain string `json:"builderDomain"`
}

// ForkNetwork is what is public of a network all of whose slots are of one fork.
type ForkNetwork struct {
	Network
	Fork        string `json:"fork"`
	ForkVersion string `json:"forkVersion"`
	// ProposerDomain is the domain of signatures on blocks.
	ProposerDomain string `json:"proposerDomain"`
	// MaxBlobs is how many blobs a block may have.
	MaxBlobs uint64 `json:"maxBlobs"`
	// Genesis is a file in geth's form, from which the execution layer's genesis block is made.
	Genesis     string `json:"genesis"`
	GenesisHash string `json:"genesisHash"`
}

func network0() Network {
	domain := builderDomain()
	return Network{
		ChainID: chainID, GenesisTime: genesisSeconds, SlotSeconds: slotSeconds, SlotsPerEpoch: slotsPerEpoch,
		GenesisForkVersion: hexOf(genesisForkVersion[:]), GenesisValidatorsRoot: hexOf(genesisValidatorsRoot[:]),
		BuilderDomain: hexOf(domain[:]),
	}
}

// mostBlobs is how many blobs a block of a fork may have (EIP-4844, EIP-7691).
var mostBlobs = eth.Column[uint64]{eth.Bellatrix: 0, eth.Capella: 0, eth.Deneb: 6, eth.Electra: 9, eth.Fulu: 9}

func (r *round) network() ForkNetwork {
	version, domain := forkVersion(r.fork), proposerDomain(r.fork)
	return ForkNetwork{
		Network: network0(), Fork: r.fork.String(), ForkVersion: hexOf(version[:]), ProposerDomain: hexOf(domain[:]),
		MaxBlobs: mostBlobs[r.fork], Genesis: r.genesisFile(), GenesisHash: r.chain.Genesis().Hash().Hex(),
	}
}

// Known is what the relay knows when a submission comes.
type Known struct {
	// HeadSlot is the slot of the chain's head, NowSlot the one that runs by the clock.
	HeadSlot phase0.Slot `json:"headSlot"`
	NowSlot  phase0.Slot `json:"nowSlot"`
	// Delivered: a payload of the slot was revealed already.
	Delivered bool `json:"delivered"`
	// BuilderBlocked: the operator takes no submissions of this builder.
	BuilderBlocked bool `json:"builderBlocked"`
	// CollateralWei is up to which value the operator lets this builder send headers first, in decimal
	// digits; null if not at all. It only counts for header submissions.
	CollateralWei *string `json:"collateralWei"`
	// Duty is who proposes in the slot; null if that is not known.
	Duty *Duty `json:"duty"`
	// Attributes are the payload attributes that the beacon node announced for the slot on the parent;
	// null if it has not.
	Attributes *Attributes `json:"attributes"`
}

// Duty is a proposer's duty.
type Duty struct {
	Slot           phase0.Slot           `json:"slot"`
	ValidatorIndex phase0.ValidatorIndex `json:"validatorIndex"`
	Pubkey         string                `json:"pubkey"`
	// Registration is the proposer's newest; null if it has not registered.
	Registration *Preferences `json:"registration"`
}

// Preferences are what a registration says.
type Preferences struct {
	FeeRecipient string `json:"feeRecipient"`
	GasLimit     uint64 `json:"gasLimit,string"`
}

// Attributes are payload attributes, with what is known of the parent.
type Attributes struct {
	Slot             phase0.Slot           `json:"slot"`
	ParentHash       string                `json:"parentHash"`
	ParentNumber     uint64                `json:"parentNumber,string"`
	PrevRandao       string                `json:"prevRandao"`
	Withdrawals      []*capella.Withdrawal `json:"withdrawals,omitempty"`
	ParentBeaconRoot string                `json:"parentBeaconBlockRoot"`
}

// known is what the relay knows of the round when all is well.
func (r *round) known() *Known {
	return &Known{
		HeadSlot: 0, NowSlot: roundSlot - 1,
		Duty: &Duty{
			Slot: roundSlot, ValidatorIndex: validatorIndex, Pubkey: r.proposer.Public.String(),
			Registration: &Preferences{FeeRecipient: addressText(r.payee), GasLimit: gasLimit},
		},
		Attributes: &Attributes{
			Slot: roundSlot, ParentHash: r.chain.Genesis().Hash().Hex(), PrevRandao: hexOf(prevRandao[:]),
			Withdrawals: r.withdrawals, ParentBeaconRoot: hexOf(parentBeaconRoot[:]),
		},
	}
}

func hexOf(raw []byte) string { return fmt.Sprintf("%#x", raw) }

// addressText is an address in lower case, without its checksum.
func addressText(a common.Address) string { return hexOf(a[:]) }
