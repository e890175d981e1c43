package journal

import (
	"context"
	"sync"
)

// AckFuture tells whether the journal has a batch of facts. Everybody who has facts in the batch
// has the same one: it says no if the journal may lack any of them. It is safe for concurrent use.
type AckFuture struct {
	mu      sync.Mutex // guards what follows
	missing int        // messages that were not acked yet, and one for the writing itself
	failed  error      // the first

	done chan struct{} // closed when nothing is missing; failed does not change then
}

func newAckFuture() *AckFuture { return &AckFuture{missing: 1, done: make(chan struct{})} }

// ended is the future of facts that were not taken.
func ended(err error) *AckFuture {
	r := newAckFuture()
	r.acked(err)
	return r
}

// Wait returns nil when the journal has the facts; else why it may lack them, or the context's
// error if that ends first: then nothing is known.
func (r *AckFuture) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.failed
	default:
	}
	select {
	case <-r.done:
		return r.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// expect counts a message that is about to be handed over.
func (r *AckFuture) expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing++
}

// sent says that all messages are handed over.
func (r *AckFuture) sent() { r.acked(nil) }

// acked takes the journal's word for one message.
func (r *AckFuture) acked(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	if r.missing--; r.missing == 0 {
		close(r.done)
	}
}

// fail notes that a fact will not be kept. A future that nobody has takes no notes.
func (r *AckFuture) fail(err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}
