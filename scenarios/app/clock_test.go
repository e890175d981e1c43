package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// Two processes whose clocks are started with the same words have the same time, also when one is
// told later.
func TestClockOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLabClock(time.Now(), 8)
		time.Sleep(time.Hour)
		if !lab.Now().Equal(lab.origin) || lab.plan().StartedNs != 0 {
			t.Errorf("before the start it reads %s", lab.Now())
		}
		lab.Start()
		time.Sleep(time.Minute)
		told := lab.plan()
		other := clock.NewFast(told.Origin, told.Speed)
		other.StartAt(past(told.StartedNs))
		time.Sleep(time.Second)
		if a, b := lab.Now(), other.Now(); !a.Equal(b) || a.Sub(lab.origin) != 8*61*time.Second {
			t.Errorf("one reads %s, the other %s", a, b)
		}
	})
}

// A skew leaves waits alone that have begun; a jump does not: one ahead ends them, one back makes
// them longer.
//
//gavel:fault clock-jump
func TestSkewAndJump(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*skewed)
		wakes  time.Duration
	}{
		"nothing":      {func(*skewed) {}, time.Minute},
		"skew ahead":   {func(s *skewed) { s.set(time.Hour) }, time.Minute},
		"jump ahead":   {func(s *skewed) { s.jump(time.Hour) }, 10 * time.Second},
		"jump a bit":   {func(s *skewed) { s.jump(20 * time.Second) }, 40 * time.Second},
		"jump back":    {func(s *skewed) { s.jump(-time.Hour) }, time.Hour + time.Minute},
		"jump and end": {func(s *skewed) { s.jump(-time.Hour); s.jump(0) }, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &skewed{right: clock.Real{}}
			began, woke := time.Now(), make(chan time.Duration)
			go func() {
				if err := s.Until(t.Context(), began.Add(time.Minute)); err != nil {
					t.Error(err)
				}
				woke <- time.Since(began)
			}()
			time.Sleep(10 * time.Second)
			c.change(s)
			if got := <-woke; got != c.wakes {
				t.Errorf("%s: it woke after %s, want %s", name, got, c.wakes)
			}
		})
	}
}

// A wait on a skewed clock ends with its context.
func TestSkewedWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &skewed{right: clock.Real{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Until(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}
