package app

import (
	"log/slog"
	"testing"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/breaker"
	"github.com/gavel-relay/gavel/devnet/network"
)

// Proposers of a devnet that was asked for nothing have a client's usual circuit breaker; how it
// acts is tested where they are.
func TestProposersHaveACircuitBreaker(t *testing.T) {
	for _, c := range []struct {
		limit int
		want  breaker.Limits
	}{
		{devnet.Default().CircuitBreaker, breaker.Default()},
		{3, breaker.Limits{MissedInRow: 3}},
		{0, breaker.Limits{}},
	} {
		cfg := devnet.Config{CircuitBreaker: c.limit}
		l := &lab{cfg: cfg, network: new(network.Network), log: slog.New(slog.DiscardHandler)}
		if got := l.proposers(nil).Breaker; got != c.want {
			t.Errorf("%d missed slots: %+v", c.limit, got)
		}
	}
}
