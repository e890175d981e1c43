package clocktest

import (
	"context"
	"time"
)

// Steps is a clock that one goroutine never waits for: each wait makes it the time that was wanted.
// After so many waits it calls End, if there is one, and refuses.
type Steps struct {
	Time time.Time
	Left int
	End  context.CancelFunc
}

// Now implements clock.Clock.
func (s *Steps) Now() time.Time { return s.Time }

// Until implements clock.Clock.
func (s *Steps) Until(ctx context.Context, t time.Time) error {
	if s.Left == 0 {
		if s.End != nil {
			s.End()
		}
		return context.Canceled
	}
	s.Left--
	if t.After(s.Time) {
		s.Time = t
	}
	return ctx.Err()
}
