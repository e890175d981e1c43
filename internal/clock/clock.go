// Package clock is the one port through which a shell asks for the time. Pure rooms never see it:
// they are told the time as an argument. There are three clocks: Real, the wall; Stepped, which
// stands where it is set; and Paced, a laboratory's, which runs faster than the wall but never
// ahead of the work.
//
//	Paced ─▶ a step of the wall ─▶ settle: nobody has anything to do (Idle) ─▶ move, wake who waits ─▶ …
package clock

import (
	"context"
	"time"
)

// Clock tells chain time and waits for it. Implementations are safe for concurrent use.
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
