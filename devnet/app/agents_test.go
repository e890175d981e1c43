package app

import (
	"testing"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/breaker"
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
		if got := (&lab{cfg: devnet.Config{CircuitBreaker: c.limit}}).proposerRole().Breaker; got != c.want {
			t.Errorf("%d missed slots: %+v", c.limit, got)
		}
	}
}
