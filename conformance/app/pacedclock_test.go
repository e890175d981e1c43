package app_test

import (
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// The clock and the budgets of our own services follow from the length of slots, also of slots of
// the usual length that nobody has named.
func TestByOwnClockFollowsTheSlots(t *testing.T) {
	for slot, hintMs := range map[time.Duration]int{0: 9000, 2 * time.Second: 9000, 12 * time.Second: 9000,
		time.Second: 4500} {
		s, o := app.Source{Local: true, World: world.Config{Slot: slot}}, app.Options{}
		app.ByOwnClock(&s, &o)
		if s.Budgets.HintMs != hintMs || s.Budgets.SettleMs != hintMs || s.World.Clock == nil || o.Clock == nil {
			t.Errorf("slots of %v: %+v", slot, s.Budgets)
		}
	}
	elsewhere := app.Source{Target: &target.Target{}}
	if app.ByOwnClock(&elsewhere, &app.Options{}); elsewhere.World.Clock != nil ||
		elsewhere.Budgets != (target.Budgets{}) {
		t.Errorf("a target elsewhere: %+v", elsewhere)
	}
}
