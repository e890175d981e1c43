package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// labClock is the lab's clock, which services in other processes are told of.
type labClock struct {
	*clock.Fast
	origin    time.Time
	speed     float64
	startedNs atomic.Int64 // 0 while it stands
}

func newLabClock(origin time.Time, speed float64) *labClock {
	return &labClock{Fast: clock.NewHeld(origin, speed), origin: origin, speed: speed}
}

// Start lets the clock run; it is called once.
func (c *labClock) Start() {
	now := time.Now()
	c.startedNs.Store(now.UnixNano())
	c.StartAt(now)
}

// plan is what another process must know to have the same time.
func (c *labClock) plan() clockPlan {
	return clockPlan{Origin: c.origin, Speed: c.speed, StartedNs: c.startedNs.Load()}
}

// past is the moment at which the wall showed some nanoseconds of Unix time. It is counted from now
// on, so that the wall may be set meanwhile.
func past(unixNs int64) time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, unixNs)))
}

// skewed is a clock that is wrong by an amount that faults change. It is safe for concurrent use.
type skewed struct {
	right clock.Clock

	mu     sync.Mutex // guards what follows
	off    time.Duration
	jumped chan struct{} // closed by jump; nil while nobody waits
}

var _ clock.Clock = (*skewed)(nil)

// set makes the clock wrong. A wait that has begun ends as if it were not.
func (s *skewed) set(off time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
}

// jump makes the clock wrong, and whoever waits looks at it anew.
func (s *skewed) jump(off time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
	if s.jumped != nil {
		close(s.jumped)
		s.jumped = nil
	}
}

// state is by how much the clock is wrong, and what closes when it jumps.
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

// until waits on the right clock; again means that the wrong one jumped first.
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
