// Package clock is the only way by which services ask for the time. Pure packages never import it:
// they get the time as an argument. Real is the wall clock. Stepped stands where it is set, and
// Leap jumps to what is waited for, so that tests never wait for wall time. Fast runs a fixed
// number of times as fast as the wall. Paced is for the devnet and scenarios: it runs faster than
// the wall but stands while there is work to do.
//
//	Paced ─▶ a step of the wall ─▶ settle: nothing is left to do (Idle) ─▶ move, wake waiting goroutines ─▶ …
package clock

import (
	"context"
	"time"
)

// Clock reads chain time and waits for it. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the current chain time.
	Now() time.Time
	// Until returns nil once Now has reached t (at once if it has already), or the context's error if
	// that ends first.
	Until(ctx context.Context, t time.Time) error
}

// Real is the wall clock.
type Real struct{}

// Now is time.Now.
func (Real) Now() time.Time { return time.Now() }

// Until sleeps on the wall clock.
func (Real) Until(ctx context.Context, t time.Time) error { return sleep(ctx, time.Until(t)) }

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

var _ Clock = Real{}
