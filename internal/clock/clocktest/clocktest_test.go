package clocktest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/clock/clocktest"
)

var (
	_     clock.Clock = (*clocktest.Manual)(nil)
	begin             = time.Unix(1_700_000_000, 0)
)

// A clock that is moved by hand lets those go on whose time has come, and tells when enough wait.
func TestHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual(begin)
		ended := make(chan time.Duration, 2)
		for _, wait := range []time.Duration{time.Second, time.Hour} {
			go func() {
				if err := c.Until(t.Context(), begin.Add(wait)); err == nil {
					ended <- wait
				}
			}()
		}
		c.Waiters(begin.Add(time.Second), 1)
		c.Waiters(begin.Add(time.Hour), 1)
		c.Set(begin.Add(time.Minute))
		synctest.Wait()
		if len(ended) != 1 || <-ended != time.Second || !c.Now().Equal(begin.Add(time.Minute)) {
			t.Errorf("%d went on after a minute, at %s", len(ended), c.Now())
		}
		c.Set(begin.Add(time.Hour))
		if <-ended != time.Hour {
			t.Error("the wrong one went on")
		}
		over, end := context.WithCancel(t.Context())
		end()
		if err := c.Until(over, begin.Add(2*time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait without its context: %v", err)
		}
	})
}

// A clock that leaps is at once where somebody waits for, and stays before its end.
func TestLeap(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	c := clocktest.NewLeap(begin, begin.Add(time.Minute), end)
	for _, wait := range []time.Duration{time.Minute, time.Second} {
		if err := c.Until(ctx, begin.Add(wait)); err != nil || !c.Now().Equal(begin.Add(time.Minute)) {
			t.Errorf("%s: %s, %v", wait, c.Now(), err)
		}
	}
	if err := c.Until(ctx, begin.Add(time.Hour)); !errors.Is(err, context.Canceled) ||
		!c.Now().Equal(begin.Add(time.Minute)) {
		t.Errorf("beyond its end: %s, %v", c.Now(), err)
	}
}

// A clock of steps ends after its last one; a list of waits only grows.
func TestStepsAndWaits(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	steps, waits := &clocktest.Steps{Time: begin, Left: 2, End: end}, &clocktest.Waits{Time: begin}
	for _, wait := range []time.Duration{time.Second, 0} {
		if err := errors.Join(steps.Until(ctx, begin.Add(wait)), waits.Until(ctx, begin.Add(wait))); err != nil {
			t.Error(err)
		}
	}
	if !steps.Now().Equal(begin.Add(time.Second)) || !waits.Now().Equal(begin) ||
		!slices.Equal(waits.List, []time.Duration{time.Second, 0}) {
		t.Errorf("at %s and %s, waited %v", steps.Now(), waits.Now(), waits.List)
	}
	if err := steps.Until(ctx, begin); !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		t.Errorf("after the last step: %v, the context %v", err, ctx.Err())
	}
}
