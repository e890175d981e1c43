// Package backoff says how long to wait before something is tried again, and waits.
package backoff

import (
	"context"
	"time"
)

// Doubling is a pause that doubles with each failure: First after one failure, Longest at most. The
// zero value never waits.
type Doubling struct{ First, Longest time.Duration }

// After is the pause after so many failures in a row (at least one).
func (d Doubling) After(failures int) time.Duration {
	pause := d.First
	for range failures - 1 {
		if pause >= d.Longest {
			break
		}
		pause *= 2
	}
	return min(pause, d.Longest)
}

// Wait waits for the pause. If the context ends first, it returns the context's error.
func Wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
