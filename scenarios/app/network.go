package app

import (
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

const (
	// userWallets is how many accounts send transactions. There are several, so that one sender's
	// nonces seldom hold up a block.
	userWallets = 16
	// searcherWallets is how many backruns of one searcher can land in a block.
	searcherWallets = 4
)

// openNetwork opens the network of a plan, with its clock. The clock stands until it is started.
func openNetwork(p *plan.Plan, log *slog.Logger) (*network.Network, *labClock, error) {
	genesis := time.Now().Truncate(time.Second)
	clock := newLabClock(genesis, p.Speed)
	n, err := network.Open(network.Config{
		Genesis: genesis, Clock: clock, Speed: p.Speed, Slot: p.Slot, SlotsPerEpoch: p.SlotsPerEpoch, Forks: p.Forks,
		Validators: p.Validators, Seed: p.Seed, LocalTxLimit: p.TxsPerSlot, Log: log,
		Actors: network.Actors{
			Users: userWallets, Traders: len(p.Users), Builders: len(p.Builders),
			Searchers: len(p.Searchers), SearcherWallets: searcherWallets,
		},
	})
	return n, clock, err
}

// wallTime returns how long a span of chain time takes in wall time.
func wallTime(chainTime time.Duration, speed float64) time.Duration {
	return time.Duration(float64(chainTime) / speed)
}
