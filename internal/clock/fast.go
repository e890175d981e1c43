package clock

import (
	"context"
	"sync"
	"time"
)

// Fast starts at an origin and runs speed times as fast as the wall. It stands at its origin until
// Start, so that everything can be made ready first.
type Fast struct {
	origin  time.Time
	speed   float64
	started chan struct{} // closed by Start; start is written before
	start   time.Time
	once    sync.Once
}

// NewFast returns a clock that reads origin until Start is called.
func NewFast(origin time.Time, speed float64) *Fast {
	if speed <= 0 {
		speed = 1
	}
	return &Fast{origin: origin, speed: speed, started: make(chan struct{})}
}

// Start lets the clock run. It has no effect on one that runs.
func (f *Fast) Start() { f.StartAt(time.Now()) }

// StartAt is Start as if it had been called at that wall time, so that the clocks of two processes
// agree.
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

// Until sleeps for as much wall time as the clock needs to reach t; before the start it
// waits for that first.
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
