package app

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios"
)

// openNetwork opens the network of the plan, with its clock. The clock stands until it is started.
func (l *planRun) openNetwork() (err error) {
	genesis, p := time.Now().Truncate(time.Second), l.plan
	l.clock = newLabClock(genesis, p.Speed)
	l.network, err = network.Open(network.Config{
		Genesis: genesis, Clock: l.clock, Speed: p.Speed, Slot: p.Slot, SlotsPerEpoch: p.SlotsPerEpoch, Forks: p.Forks,
		Validators: p.Validators, Seed: p.Seed, LocalTxLimit: p.TxsPerSlot,
		RefusesKnown: l.refuseKnown, Relays: len(p.Relays), Log: l.log,
		Actors: network.Actors{
			Users: network.UserWallets, Traders: len(p.Users), Builders: len(p.Builders),
			Searchers: len(p.Searchers), SearcherWallets: network.SearcherWallets,
		},
	})
	return err
}

// refuseKnown says whether the beacon node refuses a block that it has already, and records it.
func (l *planRun) refuseKnown(slot phase0.Slot) bool {
	if !l.refusesKnown.Load() {
		return false
	}
	l.book.add(scenarios.Record{Actor: scenarios.BeaconNode, Subject: scenarios.KnownRefused, Slot: int(slot)},
		time.Time{}, nil)
	return true
}

// wallTime returns how long a span of chain time takes in wall time.
func wallTime(chainTime time.Duration, speed float64) time.Duration {
	return time.Duration(float64(chainTime) / speed)
}
