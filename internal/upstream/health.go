package upstream

import (
	"time"

	"github.com/gavel-relay/gavel/internal/backoff"
)

// FirstPause is how long a node is left aside after one failure; the pause doubles with each
// further one.
const FirstPause = 250 * time.Millisecond

var pauses = backoff.Doubling{First: FirstPause, Longest: 30 * time.Second}

// Health is what tries have shown of a node. The zero value never failed. It is not safe for
// concurrent use.
type Health struct {
	failures    int // in a row
	pausedUntil time.Time
}

// Failures is how often the node failed since it last answered.
func (h *Health) Failures() int { return h.failures }

// Healthy says whether the node's last try was good, or there was none.
func (h *Health) Healthy() bool { return h.failures == 0 }

// Ready says whether the node is healthy or its pause is over.
func (h *Health) Ready(at time.Time) bool { return h.Healthy() || !at.Before(h.pausedUntil) }

// Pause is how long the node is left aside for its last failure.
func (h *Health) Pause() time.Duration { return pauses.After(h.failures) }

// Succeed notes that the node answered.
func (h *Health) Succeed() { h.failures = 0 }

// Fail notes that a try failed, and begins a pause. Tries that fail within a pause change nothing:
// they may have been under way together.
func (h *Health) Fail(at time.Time) {
	if !h.Ready(at) {
		return
	}
	h.failures++
	h.pausedUntil = at.Add(h.Pause())
}
