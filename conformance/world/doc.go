// Package world simulates the network around a target: a chain, an execution node, a beacon node,
// validators, and accounts with money. With it the suite can test more than answers to single
// requests. A target follows the world as it would follow a real network, in real time. The suite
// controls the world over HTTP, from this process or from others.
//
//	target ──Beacon API, JSON-RPC──▶ chain and beacon node ◀── keeper: a local block in each slot that nobody has asked for
//	bundle RPC ──orders──▶ builders ─────────────▲ with the orders that the suite wants there
//	suite  ──/conformance/v1/…─────▶ Server: slots, blocks, accounts, orders, refusals of the beacon node, blocks that it has already
//
// A slot is given to one spec, or to one process whose specs bid in it one after another, each
// above the one before. So specs may run in any order, and in several processes.
package world

import (
	"math/big"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Facts are what the suite must know about the world. Numbers are JSON numbers; bytes are
// hexadecimal with 0x.
type Facts struct {
	GenesisTime           int64  `json:"genesisTime"` // seconds since 1970
	GenesisForkVersion    string `json:"genesisForkVersion"`
	GenesisValidatorsRoot string `json:"genesisValidatorsRoot"`
	SlotMs                int64  `json:"slotMs"`
	SlotsPerEpoch         uint64 `json:"slotsPerEpoch"`
	// Fork is the name of the fork at genesis, which all slots have before NextForkSlot. ForkVersion
	// is in the domain of its blocks' signatures.
	Fork        string `json:"fork"`
	ForkVersion string `json:"forkVersion"`
	// NextFork is the fork from NextForkSlot on; all three are empty if there is none.
	NextFork        string      `json:"nextFork,omitempty"`
	NextForkVersion string      `json:"nextForkVersion,omitempty"`
	NextForkSlot    phase0.Slot `json:"nextForkSlot,omitempty"`
	ChainID         uint64      `json:"chainId"`
	BeaconURL       string      `json:"beaconUrl"`
	ExecutionURL    string      `json:"executionUrl"`
	// ValidationURL serves flashbots_validateBuilderSubmission, for relays that ask a node.
	ValidationURL string `json:"validationUrl"`
	// Staked is the builder that a relay under test bids as from gloas on; nil in a world without it.
	Staked *Staked `json:"staked,omitempty"`
	// Builders take orders from a bundle RPC. The RPC must have the first one as the operator's own
	// builder.
	Builders []Builder `json:"builders"`
	// ValidatorKeys are the secret keys of all validators, in the order of their indices.
	ValidatorKeys []string `json:"validatorKeys"`
}

// Builder is the URL to which orders for a builder are posted, as JSON-RPC.
type Builder struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Stranger returns the place of the Stranger's key in ValidatorKeys.
func (f Facts) Stranger() int { return len(f.ValidatorKeys) - 1 }

// Restless returns the place of the Restless validator's key in ValidatorKeys.
func (f Facts) Restless() int { return len(f.ValidatorKeys) - 2 }

// Slots returns how long a number of the world's slots takes.
func (f Facts) Slots(n int) time.Duration {
	return time.Duration(n) * time.Duration(f.SlotMs) * time.Millisecond
}

// Patience is how long a spec may wait for its slot: a validator of each kind proposes within two
// rounds of all validators. It is at least 30 s.
func (f Facts) Patience() time.Duration {
	return max(30*time.Second, f.Slots(2*len(f.ValidatorKeys)+2))
}

// ForkOf returns the fork at genesis.
func (f Facts) ForkOf() eth.Fork { return parsed(f.Fork) }

// ForkAt returns the fork of a slot, and the version in the domain of its blocks' signatures.
func (f Facts) ForkAt(slot phase0.Slot) (fork eth.Fork, version string) {
	if f.NextFork != "" && slot >= f.NextForkSlot {
		return parsed(f.NextFork), f.NextForkVersion
	}
	return parsed(f.Fork), f.ForkVersion
}

// HasGloas says whether the world has slots of gloas.
func (f Facts) HasGloas() bool {
	return !f.ForkOf().HasBlindedBlocks() || f.NextFork != "" && !parsed(f.NextFork).HasBlindedBlocks()
}

// FirstGloasSlot returns the first slot of gloas after that of genesis, in a world that has some.
func (f Facts) FirstGloasSlot() phase0.Slot { return max(f.NextForkSlot, 1) }

// SlotAfter returns the first slot that begins after a time.
func (f Facts) SlotAfter(at time.Time) phase0.Slot {
	return phase0.Slot(at.Sub(f.At(0))/f.Slots(1)) + 1 // never before genesis
}

func parsed(name string) eth.Fork {
	fork, err := eth.ParseFork(name)
	if err != nil {
		panic("a world without a fork: " + err.Error()) // Dial has checked the names
	}
	return fork
}

// Slot is a slot that was given to one spec.
type Slot struct {
	Slot           phase0.Slot           `json:"slot"`
	ParentHash     phase0.Hash32         `json:"parentHash"`
	ParentRoot     phase0.Root           `json:"parentRoot"`
	PrevRandao     phase0.Hash32         `json:"prevRandao"`
	Withdrawals    []*capella.Withdrawal `json:"withdrawals"`
	ValidatorIndex phase0.ValidatorIndex `json:"validatorIndex"`
	Timestamp      uint64                `json:"timestamp"` // seconds since 1970, the slot's start
	// Empty says that the parent block was left without its payload, whose hash is Withheld: from
	// gloas on, if that was wanted.
	Empty    bool          `json:"empty,omitempty"`
	Withheld phase0.Hash32 `json:"withheld,omitzero"`
	// BaseGwei is a value above all earlier bids in the slot. A spec adds its own values to it.
	BaseGwei uint64 `json:"baseGwei"`
}

// Wanted says which slot to wait for.
type Wanted struct {
	// Kind of proposer: Registered, Restless or Stranger.
	Kind Kind `json:"kind"`
	// Propose reserves the slot for a block of the spec: the world proposes none.
	Propose bool `json:"propose"`
	// Alone requests a slot in which no other spec bids. Without it, specs of one process may get
	// the same slot, one after another.
	Alone bool `json:"alone"`
	// Hurry takes the slot even if little of the time before it is left. A slot after a missed one is
	// known only then.
	Hurry bool `json:"hurry"`
	// Empty requests a slot of gloas whose parent block is left without its payload.
	Empty bool `json:"empty"`
	// From is the first slot that is wanted.
	From phase0.Slot `json:"from,omitempty"`
	// Who names the process that requests the slot. Processes never share a slot.
	Who string `json:"who"`
}

// Kind says what specs do with a validator's registration.
type Kind string

// The kinds. The last validator is the Stranger: it never registers. The one before it is Restless:
// specs change its registration. All others are Registered: they register once.
const (
	Registered Kind = "registered"
	Restless   Kind = "restless"
	Stranger   Kind = "stranger"
)

// KindOf returns the kind of a validator. Validators is how many there are.
func KindOf(index phase0.ValidatorIndex, validators int) Kind {
	switch int(index) {
	case validators - 1:
		return Stranger
	case validators - 2:
		return Restless
	default:
		return Registered
	}
}

// Order says which block to build.
type Order struct {
	Slot         Slot     `json:"slot"`
	FeeRecipient string   `json:"feeRecipient"`
	PaysWei      *big.Int `json:"paysWei"`
	GasLimit     uint64   `json:"gasLimit"`
	// Blobs is how many blobs the block carries, at most 3.
	Blobs int `json:"blobs"`
	// Bytes is about how many bytes of transactions the block has, at most MostBytes. They carry
	// random data, which does not get smaller when it is compressed.
	Bytes int `json:"bytes"`
	// Requests says that the block has execution requests: a withdrawal and a consolidation.
	Requests bool `json:"requests"`
	// Extra goes into the block's extra data, so that blocks of one slot differ.
	Extra string `json:"extra"`
}

// Account is an account that has money at genesis. It is given to one spec only.
type Account struct {
	SecretKey string `json:"secretKey"`
}
