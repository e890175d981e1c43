package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// A target at addresses is taken as it is. Containers without an engine cannot be judged, and an
// image without containers is the caller's mistake.
func TestOpen(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	addresses := &target.Target{Stream: &target.Stream{URL: "http://127.0.0.1:1"}}
	contained := &target.Target{Containers: []target.Container{{Name: "relay", Image: "relay:1", Ports: []int{80}}}}

	found, end, err := app.Open(t.Context(), app.Source{Target: addresses, Notes: t.Output()})
	if end(); err != nil || found != addresses {
		t.Errorf("a target at addresses: %v, %v", found, err)
	}
	var usage app.UsageError
	if _, end, err = app.Open(t.Context(), app.Source{Target: addresses, Image: "relay:1"}); !errors.As(err, &usage) {
		t.Errorf("an image for nothing: %v", err)
	}
	end()
	if _, end, err = app.Open(t.Context(), app.Source{Target: contained, Literal: true}); !errors.As(err, &usage) {
		t.Errorf("literal mode of a target of others: %v", err)
	}
	end()
	var unusable app.UnusableError
	_, end, err = app.Open(t.Context(), app.Source{Target: contained, Notes: t.Output()})
	if end(); !errors.As(err, &unusable) || !errors.Is(err, app.ErrNoEngine) {
		t.Errorf("containers without an engine: %v", err)
	}
	_, end, err = app.Open(t.Context(), app.Source{Image: "gavel:dev", Notes: t.Output()})
	if end(); !errors.As(err, &unusable) || !errors.Is(err, app.ErrNoEngine) {
		t.Errorf("an image without an engine: %v", err)
	}
}

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
