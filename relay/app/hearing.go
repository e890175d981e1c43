package app

import (
	"context"
	"errors"
	"sync"
)

// hearing is how far this instance has read one of the journal's streams. The zero value has read
// nothing. It is safe for concurrent use.
type hearing struct {
	mu      sync.Mutex // guards what follows
	upTo    uint64
	changed chan struct{} // closed when upTo grows; nil if nobody waits
}

// errNotHeard is the fault of an instance that writes to the journal and does not hear of it.
var errNotHeard = errors.New("what this instance writes does not come back to it, so it does not hear other instances")

// note says that everything up to a number was read and applied.
func (h *hearing) note(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.upTo = max(h.upTo, seq)
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// from returns the number of the next message to read.
func (h *hearing) from() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.upTo + 1
}

// wait returns when everything up to a number was read, or with an error when the context ends.
func (h *hearing) wait(ctx context.Context, seq uint64) error {
	for {
		h.mu.Lock()
		if h.upTo >= seq {
			h.mu.Unlock()
			return nil
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return errNotHeard
		}
	}
}
