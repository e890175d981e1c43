package user

import (
	"context"
	"time"
)

// steppingClock is a clock for one goroutine, which never has to wait: each wait sets the clock to
// the wanted time. After Left waits it calls End, if there is one, and Until returns
// context.Canceled.
type steppingClock struct {
	Time time.Time
	Left int
	End  context.CancelFunc
}

// Now implements clock.Clock.
func (s *steppingClock) Now() time.Time { return s.Time }

// Until implements clock.Clock.
func (s *steppingClock) Until(ctx context.Context, t time.Time) error {
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
