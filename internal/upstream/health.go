package upstream

import (
	"time"

	"github.com/gavel-relay/gavel/internal/run"
)

// FirstPause is how long a node is paused after one failure. The pause doubles with each further
// failure in a row.
const FirstPause = 250 * time.Millisecond

var pauses = run.Backoff{First: FirstPause, Longest: 30 * time.Second}

// Health counts a node's failures and holds its pause. The zero value has never failed. It is not
// safe for concurrent use.
type Health struct {
	failures    int // in a row
	pausedUntil time.Time
}

// Failures is how often the node has failed since it last answered.
func (h *Health) Failures() int { return h.failures }

// Healthy says whether the node has not failed since it last answered.
func (h *Health) Healthy() bool { return h.failures == 0 }

// Ready says whether the node is healthy or its pause is over.
func (h *Health) Ready(at time.Time) bool { return h.Healthy() || !at.Before(h.pausedUntil) }

// Pause is how long the node is paused for its last failure.
func (h *Health) Pause() time.Duration { return pauses.After(h.failures) }

// Succeed records that the node answered.
func (h *Health) Succeed() { h.failures = 0 }

// Fail records that a try failed, and begins a pause. A try that fails during a pause changes
// nothing, because it may have been under way together with the one before.
func (h *Health) Fail(at time.Time) {
	if !h.Ready(at) {
		return
	}
	h.failures++
	h.pausedUntil = at.Add(h.Pause())
}
