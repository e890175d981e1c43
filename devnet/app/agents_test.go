package app

import (
	"testing"

	"github.com/gavel-relay/gavel/devnet"
)

// Proposers of a devnet that was asked for nothing have a client's usual circuit breaker; how it
// acts is tested where they are.
func TestProposersHaveACircuitBreaker(t *testing.T) {
	for _, c := range []struct {
		limit int
		want  devnet.BreakerLimits
	}{
		{devnet.Default().CircuitBreaker, devnet.DefaultBreakerLimits()},
		{3, devnet.BreakerLimits{MissedInRow: 3}},
		{0, devnet.BreakerLimits{}},
	} {
		if got := (&lab{cfg: devnet.Config{CircuitBreaker: c.limit}}).proposerRole().Breaker; got != c.want {
			t.Errorf("%d missed slots: %+v", c.limit, got)
		}
	}
}
