package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

var origin = time.Unix(1_700_000_000, 0)

// atOnce is for who has nothing to do.
func atOnce(context.Context) error { return nil }

// All clocks keep the same contract; inside a bubble the wall itself is virtual, so the test takes
// no time.
func TestContract(t *testing.T) {
	for name, open := range map[string]func(*testing.T) clock.Clock{
		"real": func(*testing.T) clock.Clock { return clock.Real{} },
		"paced": func(t *testing.T) clock.Clock {
			c := clock.NewPaced(origin, 60)
			c.Start()
			run(t, c, atOnce, nil)
			return c
		},
		"stepped": func(*testing.T) clock.Clock {
			c := clock.NewStepped(origin)
			time.AfterFunc(time.Minute, func() { c.Set(origin.Add(12 * time.Second)) })
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := open(t)
				from := c.Now()
				if err := c.Until(t.Context(), from.Add(12*time.Second)); err != nil {
					t.Fatal(err)
				}
				if c.Now().Before(from.Add(12 * time.Second)) {
					t.Errorf("woke at %v, before %v", c.Now(), from.Add(12*time.Second))
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				if err := c.Until(ctx, c.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled wait answers %v", err)
				}
				if err := c.Until(ctx, c.Now()); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled wait for a time that has come answers %v", err)
				}
			})
		})
	}
}

// run has a paced clock run until the test ends.
func run(t *testing.T, c *clock.Paced, settle func(context.Context) error, moved func(time.Time)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, settle, moved) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A stepped clock never goes back, and wakes only those whose time has come.
func TestStepped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStepped(origin)
		woke := make(chan time.Duration, 2)
		for _, wait := range []time.Duration{time.Second, time.Hour} {
			go func() {
				if c.Until(t.Context(), origin.Add(wait)) == nil {
					woke <- wait
				}
			}()
		}
		synctest.Wait()
		c.Set(origin.Add(time.Minute))
		c.Set(origin)
		synctest.Wait()
		if len(woke) != 1 || <-woke != time.Second || !c.Now().Equal(origin.Add(time.Minute)) {
			t.Errorf("%d more woke, at %s", len(woke), c.Now())
		}
		c.Set(origin.Add(time.Hour))
		if <-woke != time.Hour {
			t.Error("the wrong one woke")
		}
	})
}

// A paced clock stands until it is started. Then it keeps its speed if nobody has anything to do.
func TestPaceOfAnIdleMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewPaced(origin, 10)
		var told time.Time
		run(t, c, atOnce, func(now time.Time) {
			if told = now; !c.Now().Equal(now) {
				t.Errorf("it shows %s and tells of %s", c.Now(), now)
			}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if !c.Now().Equal(origin) {
			t.Fatalf("before its start it shows %v", c.Now())
		}
		c.Start()
		c.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.Now().Sub(origin); got != 10*time.Minute || !told.Equal(c.Now()) {
			t.Errorf("after a minute of the wall %s have passed, and %s was told of", got, told)
		}
	})
}

// While there is work a paced clock stands. Afterwards it catches up in small steps, at twice its
// speed, and is never ahead of its speed from the start on.
func TestPaceOfABusyMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const speed, busy = 10, time.Minute
		c, began := clock.NewPaced(origin, speed), time.Now()
		work := make(chan struct{})
		last := origin
		run(t, c, func(ctx context.Context) error {
			select {
			case <-work:
			case <-ctx.Done():
			}
			return ctx.Err()
		}, func(now time.Time) {
			if now.Sub(last) > 80*time.Millisecond || now.Sub(origin) > speed*time.Since(began) {
				t.Errorf("a step from %s to %s, %s after the start", last, now, time.Since(began))
			}
			last = now
		})
		c.Start()
		time.Sleep(busy)
		synctest.Wait()
		if !c.Now().Equal(origin) {
			t.Fatalf("while there is work it shows %s", c.Now())
		}
		close(work)
		time.Sleep(busy / 2)
		synctest.Wait()
		if got := c.Now().Sub(origin); got <= speed*busy/2 || got >= speed*busy*3/2 {
			t.Errorf("%s later it shows %s: it does not catch up", busy/2, got)
		}
		time.Sleep(busy)
		synctest.Wait()
		if got := c.Now().Sub(origin); got != speed*time.Since(began) {
			t.Errorf("%s after the start it shows %s", time.Since(began), got)
		}
	})
}

// What keeps a clock from telling when the work is done ends its run.
func TestPaceFails(t *testing.T) {
	c, broken := clock.NewPaced(origin, 1), errors.New("broken")
	c.Start()
	if err := c.Run(t.Context(), func(context.Context) error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("it ends with %v", err)
	}
}

// A clock that leaps is at once where somebody waits for, and stays before its end.
func TestLeap(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	c := clock.NewLeap(origin, origin.Add(time.Minute), end)
	for _, wait := range []time.Duration{time.Minute, time.Second} {
		if err := c.Until(ctx, origin.Add(wait)); err != nil || !c.Now().Equal(origin.Add(time.Minute)) {
			t.Errorf("%s: %s, %v", wait, c.Now(), err)
		}
	}
	if err := c.Until(ctx, origin.Add(time.Hour)); !errors.Is(err, context.Canceled) ||
		!c.Now().Equal(origin.Add(time.Minute)) {
		t.Errorf("beyond its end: %s, %v", c.Now(), err)
	}
}
