package clocktest

import (
	"context"
	"time"
)

// Waits is a clock that stands. It records how long one goroutine wanted to wait, and lets it go on
// at once.
type Waits struct {
	Time time.Time
	List []time.Duration
}

// Now implements clock.Clock.
func (w *Waits) Now() time.Time { return w.Time }

// Until implements clock.Clock.
func (w *Waits) Until(ctx context.Context, t time.Time) error {
	w.List = append(w.List, t.Sub(w.Time))
	return ctx.Err()
}
