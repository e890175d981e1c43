package sidecar

import (
	"testing"

	"github.com/gavel-relay/gavel/devnet/plan"
)

// The breaker's two conditions, over slots as they are seen from the last one backwards: "x" is missed.
func TestBreakerOpens(t *testing.T) {
	inRow, ofWindow := plan.Breaker{MissedInRow: 3}, plan.Breaker{MissedOf: 2, Window: 4}
	for _, c := range []struct {
		breaker plan.Breaker
		slots   string
		want    bool
	}{
		{inRow, "", false},
		{inRow, "xx", false},
		{inRow, "xxx", true},
		{inRow, "xx.x", false},
		{inRow, ".xxx", false}, // a block has come since
		{ofWindow, "x", false},
		{ofWindow, "x.x", true},
		{ofWindow, ".x.x", true},
		{ofWindow, "x...x", false}, // the other one is out of the window
		{plan.Breaker{MissedInRow: 3, MissedOf: 2, Window: 4}, "x..x", true},
		{plan.Breaker{}, "xxxxxxxx", false},
	} {
		var missed []bool
		for _, slot := range c.slots {
			missed = append(missed, slot == 'x')
		}
		if got := opens(c.breaker, missed); got != c.want {
			t.Errorf("%+v after %q: %v", c.breaker, c.slots, got)
		}
	}
}
