package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// labClock is the lab's clock. It can be described to services in other processes (plan), so that
// they have the same time.
type labClock struct {
	*clock.Fast
	origin    time.Time
	speed     float64
	startedNs atomic.Int64 // 0 while the clock stands
}

func newLabClock(origin time.Time, speed float64) *labClock {
	return &labClock{Fast: clock.NewFast(origin, speed), origin: origin, speed: speed}
}

// Start starts the clock; it is called once.
func (c *labClock) Start() {
	now := time.Now()
	c.startedNs.Store(now.UnixNano())
	c.StartAt(now)
}

// plan returns what another process needs to have the same time.
func (c *labClock) plan() clockPlan {
	return clockPlan{Origin: c.origin, Speed: c.speed, StartedNs: c.startedNs.Load()}
}

// past returns the moment of a Unix time in nanoseconds, with a monotonic reading. So the result
// stays right if the system's wall clock is set later.
func past(unixNs int64) time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, unixNs)))
}

// skewed is a clock that is wrong by an offset, which faults change. It is safe for concurrent use.
type skewed struct {
	right clock.Clock

	mu     sync.Mutex // guards the fields below
	off    time.Duration
	jumped chan struct{} // closed by jump; nil until somebody waits
}

var _ clock.Clock = (*skewed)(nil)

// set changes the offset. A wait that has begun already ends when it would have ended without the
// change.
func (s *skewed) set(off time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
}

// jump changes the offset, and waits that have begun already are recomputed.
func (s *skewed) jump(off time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
	if s.jumped != nil {
		close(s.jumped)
		s.jumped = nil
	}
}

// state returns the offset, and a channel that is closed when the clock jumps.
func (s *skewed) state() (off time.Duration, jumped <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jumped == nil {
		s.jumped = make(chan struct{})
	}
	return s.off, s.jumped
}

// Now implements clock.Clock.
func (s *skewed) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.right.Now().Add(s.off)
}

// Until implements clock.Clock.
func (s *skewed) Until(ctx context.Context, t time.Time) error {
	for {
		off, jumped := s.state()
		again, err := s.until(ctx, t.Add(-off), jumped)
		if !again {
			return err
		}
	}
}

// until waits on the right clock. again means that the skewed clock jumped before t.
func (s *skewed) until(ctx context.Context, t time.Time, jumped <-chan struct{}) (again bool, err error) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.right.Until(waiting, t) }()
	select {
	case err := <-ended:
		return false, err
	case <-jumped:
		stop()
		return <-ended != nil && ctx.Err() == nil, ctx.Err()
	}
}
