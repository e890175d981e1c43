package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Both manners keep the same contract; inside a bubble the wall itself is virtual, so the test
// takes no time.
func TestContract(t *testing.T) {
	for name, speed := range map[string]float64{"real": 0, "fast": 60} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c Clock = Real{}
				wallPerChain := 1.0
				if speed > 0 {
					fast := NewHeld(time.Unix(1_700_000_000, 0), speed)
					fast.Start()
					c, wallPerChain = fast, 1/speed
				}
				wall, from := time.Now(), c.Now()
				if err := c.Until(t.Context(), from.Add(12*time.Second)); err != nil {
					t.Fatal(err)
				}
				if c.Now().Before(from.Add(12*time.Second - time.Microsecond)) {
					t.Errorf("woke at %v, before %v", c.Now(), from.Add(12*time.Second))
				}
				got, want := time.Since(wall), time.Duration(12*wallPerChain*float64(time.Second))
				if got-want > time.Millisecond || want-got > time.Millisecond {
					t.Errorf("took %v of wall time, want %v", got, want)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := c.Until(ctx, c.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled wait answers %v", err)
				}
			})
		})
	}
}

func TestHeldClockStandsUntilItIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin := time.Unix(1_700_000_000, 0)
		c := NewHeld(origin, 10)
		time.Sleep(time.Hour) // virtual
		if !c.Now().Equal(origin) {
			t.Fatalf("a held clock reads %v", c.Now())
		}
		woke := make(chan time.Time, 1)
		go func() {
			if c.Until(t.Context(), origin.Add(10*time.Second)) == nil {
				woke <- c.Now()
			}
		}()
		synctest.Wait()
		if len(woke) > 0 {
			t.Fatal("somebody woke while the clock was held")
		}
		c.Start()
		c.Start()
		if at := <-woke; at.Before(origin.Add(10 * time.Second)) {
			t.Errorf("woke at %v", at)
		}
	})
}
