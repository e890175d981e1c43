package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Every builder chooses transactions by a seed of its own, whatever its strategy, and the same one
// each time.
func TestBuildersChooseDifferently(t *testing.T) {
	seeds := map[uint64]string{}
	for _, seed := range []uint64{1, 2, 1001} {
		n, err := network.Open(network.Config{
			Speed: 12, Slot: 12 * time.Second, SlotsPerEpoch: 4, Forks: []eth.ForkPoint{{Fork: eth.Fulu}}, Validators: 1,
			Seed: seed, Actors: network.Actors{Builders: 3},
		})
		if err != nil {
			t.Fatal(err)
		}
		cast := &Cast{Network: n, Log: slog.New(slog.DiscardHandler)}
		for i := range 3 {
			usual, err := cast.builder(i, BuilderRole{})
			if err != nil {
				t.Fatal(err)
			}
			other, err := cast.builder(i, BuilderRole{Strategy: builder.Fixed{}})
			if err != nil || other.Seed != usual.Seed {
				t.Errorf("%s of network %d: seed %d, and %d with another strategy: %v", usual.Name, seed, usual.Seed,
					other.Seed, err)
			}
			if before, taken := seeds[usual.Seed]; taken {
				t.Errorf("%s of network %d has the seed of %s", usual.Name, seed, before)
			}
			seeds[usual.Seed] = usual.Name
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
