package clock

import (
	"context"
	"sync"
	"time"
)

// Stepped is a clock that stands at the time to which it was set. It is safe for concurrent use.
type Stepped struct {
	mu      sync.Mutex // guards all below
	now     time.Time
	waiting map[*waiter]struct{}
}

// waiter is a goroutine that waits for a time; come is closed when the clock has reached it.
type waiter struct {
	until time.Time
	come  chan struct{}
}

// NewStepped returns a clock that stands at a time.
func NewStepped(now time.Time) *Stepped {
	return &Stepped{now: now, waiting: map[*waiter]struct{}{}}
}

// Set moves the clock forward and wakes every goroutine whose time has come. An earlier time
// changes nothing: a clock never goes back.
func (s *Stepped) Set(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.After(s.now) {
		return
	}
	s.now = now
	for one := range s.waiting {
		if !one.until.After(now) {
			close(one.come)
			delete(s.waiting, one)
		}
	}
}

// Now implements Clock.
func (s *Stepped) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Until implements Clock.
func (s *Stepped) Until(ctx context.Context, t time.Time) error {
	one, waits := s.enter(t)
	if !waits {
		return ctx.Err()
	}
	select {
	case <-one.come:
		return ctx.Err()
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, one)
		return ctx.Err()
	}
}

// enter puts a waiter on the list; false means that the time has come already.
func (s *Stepped) enter(until time.Time) (*waiter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !until.After(s.now) {
		return nil, false
	}
	one := &waiter{until: until, come: make(chan struct{})}
	s.waiting[one] = struct{}{}
	return one, true
}

var _ Clock = (*Stepped)(nil)
