package app

import (
	"testing"
	"time"
)

// The operator is told once that the archive is late, when it has been so for a minute, and once
// that it is no more. A short wait for a database is not worth it.
func TestLateness(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var l archiveWatch
	for i, step := range []struct {
		after      time.Duration
		lag        float64
		late, over bool
	}{
		{0, 0, false, false},
		{5 * time.Second, -1, false, false},
		{10 * time.Second, lateFacts, false, false}, // it is back
		{15 * time.Second, lateFacts + 1, false, false},
		{70 * time.Second, -1, false, false},
		{75 * time.Second, lateFacts + 1, true, false},
		{80 * time.Second, lateFacts + 1, false, false}, // told once
		{300 * time.Second, -40, false, false},
		{305 * time.Second, 3, false, true},
		{310 * time.Second, 0, false, false},
		{315 * time.Second, -1, false, false},
		{375 * time.Second, -1, true, false},
	} {
		over, late := l.look(start.Add(step.after), step.lag)
		if (late != nil) != step.late || over != step.over {
			t.Errorf("step %d: %v, %v", i, late, over)
		}
	}
}
