package clock

import (
	"context"
	"sync"
	"time"
)

// Leap is a clock for tests: it leaps to the time of each wait, but never beyond its end: a wait
// for a later time lasts until its context ends. It is safe for concurrent use.
type Leap struct {
	end  time.Time
	over func()
	mu   sync.Mutex // guards now
	now  time.Time
}

// NewLeap is a clock from now to an end. If over is not nil, it is called for each wait for a time
// after the end.
func NewLeap(now, end time.Time, over func()) *Leap { return &Leap{now: now, end: end, over: over} }

// Now implements Clock.
func (c *Leap) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Until implements Clock.
func (c *Leap) Until(ctx context.Context, t time.Time) error {
	if t.After(c.end) {
		if c.over != nil {
			c.over()
		}
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
	return nil
}

var _ Clock = (*Leap)(nil)
