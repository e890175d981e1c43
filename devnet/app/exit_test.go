package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
)

// A builder's exit is in the next payload that takes the pool's transactions: a request of the
// account that its stake goes back to.
func TestExit(t *testing.T) {
	n, err := network.Open(network.Config{
		Speed: 12, Slot: 12 * time.Second, SlotsPerEpoch: 4, Forks: []eth.ForkPoint{{Fork: eth.Gloas}}, Validators: 4,
		Actors: network.Actors{Users: 1, Builders: 2}, Stakes: []network.Stake{{Builder: 1, Gwei: 5_000_000_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &Cast{Network: n, Log: slog.New(slog.DiscardHandler)}
	if err := c.exit(1)(t.Context()); err != nil {
		t.Fatal(err)
	}
	built, err := n.Chain.Build(t.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(n.Chain.Genesis().Hash()), Slot: 1, GasLimitTarget: network.GasLimit,
		Transactions: n.Chain.Pending(),
	})
	if err != nil {
		t.Fatal(err)
	}
	exits := built.Gloas.BuilderExits
	if len(exits) != 1 || exits[0].Pubkey != n.BuilderKey(1).PublicKey() ||
		common.Address(exits[0].SourceAddress) != network.Address(n.Builders[1]) {
		t.Errorf("exits %+v", exits)
	}
}
