package network

import (
	"crypto/ecdsa"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// relayStake is what each relay's staked builder has at genesis.
const relayStake phase0.Gwei = 1_000_000_000_000

// Stake is what a builder has staked at genesis. Builder is its number.
type Stake struct {
	Builder int
	Gwei    phase0.Gwei
}

// staked returns the builders that have stake at genesis, by index: those of relays, then Stakes.
func (n *Network) staked() (list []gloas.Builder) {
	for i := range n.Relays {
		list = append(list, stakedBuilder(RelayKey(n.Seed, i), Wallet(n.Seed, "relay", i), relayStake))
	}
	for _, one := range n.Stakes {
		list = append(list, stakedBuilder(n.BuilderKey(one.Builder), n.Builders[one.Builder], one.Gwei))
	}
	return list
}

func stakedBuilder(key *bls.SecretKey, wallet *ecdsa.PrivateKey, balance phase0.Gwei) gloas.Builder {
	return gloas.Builder{
		Pubkey: key.PublicKey(), Balance: balance, WithdrawableEpoch: gloas.FarFuture,
		ExecutionAddress: bellatrix.ExecutionAddress(Address(wallet)),
	}
}

// StakedIndex returns under which index the builder of a number bids from its own stake; false if
// it has none.
func (n *Network) StakedIndex(builder int) (gloas.BuilderIndex, bool) {
	for i, one := range n.Stakes {
		if one.Builder == builder {
			return gloas.BuilderIndex(n.Relays + i), true
		}
	}
	return 0, false
}

// StakedName returns the name of the builder that bids under an index from its own stake; empty if
// the index is a relay's, or nobody's.
func (n *Network) StakedName(index gloas.BuilderIndex) string {
	for i, one := range n.Stakes {
		if index == gloas.BuilderIndex(n.Relays+i) {
			return BuilderName(one.Builder)
		}
	}
	return ""
}
