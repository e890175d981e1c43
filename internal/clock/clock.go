// Package clock is the one port through which a shell asks for the time. Pure rooms never see it:
// they are told the time as an argument. There are two manners: the real clock, and a devnet's,
// which runs k times faster than the wall.
package clock

import (
	"context"
	"sync"
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

// Fast starts at an origin and runs speed times as fast as the wall. It may be held at its origin
// until everybody is ready.
type Fast struct {
	origin  time.Time
	speed   float64
	started chan struct{} // closed by Start; start is written before
	start   time.Time
	once    sync.Once
}

// NewHeld returns a clock that reads origin until Start is called.
func NewHeld(origin time.Time, speed float64) *Fast {
	if speed <= 0 {
		speed = 1
	}
	return &Fast{origin: origin, speed: speed, started: make(chan struct{})}
}

// Start lets a held clock run. It has no effect on one that runs.
func (f *Fast) Start() { f.StartAt(time.Now()) }

// StartAt is Start at a moment of the wall that is past: so clocks of two processes agree.
func (f *Fast) StartAt(start time.Time) {
	f.once.Do(func() {
		f.start = start
		close(f.started)
	})
}

// Now is the origin plus the wall time that has passed since the start, times the speed.
func (f *Fast) Now() time.Time {
	select {
	case <-f.started:
		return f.origin.Add(time.Duration(float64(time.Since(f.start)) * f.speed))
	default:
		return f.origin
	}
}

// Until sleeps for as much wall time as the clock needs to reach t; while the clock is held it
// waits for the start first.
func (f *Fast) Until(ctx context.Context, t time.Time) error {
	if !t.After(f.origin) {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.started:
	}
	return sleep(ctx, time.Duration(float64(t.Sub(f.Now()))/f.speed))
}

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

var (
	_ Clock = Real{}
	_ Clock = (*Fast)(nil)
)
