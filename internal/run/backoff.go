package run

import (
	"context"
	"time"
)

// Backoff is a pause that doubles with each failure: First after one failure, Longest at most. The
// zero value never waits.
type Backoff struct{ First, Longest time.Duration }

// After is the pause after so many failures in a row (at least one).
func (d Backoff) After(failures int) time.Duration {
	pause := d.First
	for range failures - 1 {
		if pause >= d.Longest {
			break
		}
		pause *= 2
	}
	return min(pause, d.Longest)
}

// Pause waits for the pause. If the context ends first, it returns the context's error.
func Pause(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
