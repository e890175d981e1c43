package clocktest

import (
	"context"
	"sync"
	"time"
)

// Manual is a clock that the test moves. Until returns when the test has moved the clock far
// enough, or when its context ends. It is safe for concurrent use.
type Manual struct {
	mu      sync.Mutex // guards all below
	now     time.Time
	moved   chan struct{} // closed and replaced when the clock moves, or when a goroutine begins to wait
	waiting map[time.Time]int
}

// NewManual is a clock that stands at a time.
func NewManual(now time.Time) *Manual {
	return &Manual{now: now, moved: make(chan struct{}), waiting: map[time.Time]int{}}
}

// Set moves the clock, also backwards.
func (c *Manual) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	c.wake()
}

func (c *Manual) wake() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// Now implements clock.Clock.
func (c *Manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Until implements clock.Clock.
func (c *Manual) Until(ctx context.Context, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[t]++
	c.wake()
	defer func() { c.waiting[t]-- }()
	for c.now.Before(t) {
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			c.mu.Lock()
			return ctx.Err()
		case <-moved:
		}
		c.mu.Lock()
	}
	return ctx.Err()
}

// Waiters waits until at least n goroutines wait for t.
func (c *Manual) Waiters(t time.Time, n int) {
	for {
		c.mu.Lock()
		moved, enough := c.moved, c.waiting[t] >= n
		c.mu.Unlock()
		if enough {
			return
		}
		<-moved
	}
}
