package app

import (
	"testing"
	"time"
)

// However long a publication may take and a payload be held back, a stop waits for it, and for its
// answer.
func TestAStopWaitsForPublications(t *testing.T) {
	for _, c := range []struct{ publish, reveal, grace time.Duration }{
		{4 * time.Second, time.Second, 5 * time.Second}, // the defaults
		{30 * time.Second, 0, 30 * time.Second},
		{time.Second, 0, stopGrace},
	} {
		a := &App{cfg: Config{PublishTimeout: c.publish, RevealDelay: c.reveal}}
		if got := a.serving(); got.Grace != c.grace || got.Drain != c.grace+answerTime {
			t.Errorf("publish %v, reveal %v: grace %v and drain %v, want %v and %v more", c.publish, c.reveal, got.Grace,
				got.Drain, c.grace, answerTime)
		}
	}
}
