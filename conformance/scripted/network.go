package scripted

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Network is what a client of the relays must know of the chain. There is no chain: the suite asks
// in the place of a beacon node, about slots and parents of its own.
type Network struct {
	GenesisTime        time.Time
	GenesisForkVersion phase0.Version
	Slot               time.Duration
	// Fork is the fork of all slots.
	Fork eth.Fork
}

// Mainnet returns the genesis and the slots of mainnet, so that a target that knows mainnet needs
// no other settings. Nothing of the real network is asked.
func Mainnet(fork eth.Fork) Network {
	return Network{GenesisTime: time.Unix(1606824023, 0), Slot: 12 * time.Second, Fork: fork}
}

// At returns the slot that is running at a time.
func (n Network) At(at time.Time) phase0.Slot { return phase0.Slot(at.Sub(n.GenesisTime) / n.Slot) }

// Start returns the time at which a slot begins.
func (n Network) Start(slot phase0.Slot) time.Time {
	return n.GenesisTime.Add(time.Duration(slot) * n.Slot) // no overflow: a Duration has 292 years
}

// BuilderDomain returns the domain under which relays sign bids, and validators registrations.
func (n Network) BuilderDomain() phase0.Domain {
	return probe.Domain(probe.DomainBuilder, n.GenesisForkVersion, phase0.Root{})
}
