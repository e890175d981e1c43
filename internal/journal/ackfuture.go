package journal

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// AckFuture tells whether the journal has a batch of facts. All callers with facts in the batch
// share it: it fails if the journal may lack any of the facts. It is safe for concurrent use.
type AckFuture struct {
	mu       sync.Mutex  // guards what follows
	missing  int         // messages that were not acked yet, plus one until sent is called
	failed   error       // the first error
	patience *time.Timer // closes late; nil until somebody calls WaitAtMost
	late     chan struct{}

	done chan struct{} // closed when nothing is missing; after that failed does not change
}

func newAckFuture() *AckFuture { return &AckFuture{missing: 1, done: make(chan struct{})} }

// newEndedFuture makes the future of facts that were refused.
func newEndedFuture(err error) *AckFuture {
	r := newAckFuture()
	r.recordAck(err)
	return r
}

// Wait returns nil when the journal has the facts, and an error if it may lack them. If the context
// ends first, it returns the context's cause; then nothing is known of the facts.
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

// WaitAtMost is Wait for at most so long (wall time). All callers share one timer, which begins
// with the first of them: one of their own would cost each of thousands more than the ack does.
func (r *AckFuture) WaitAtMost(patience time.Duration) error {
	select {
	case <-r.done:
		return r.failed
	case <-r.isLate(patience):
		return fmt.Errorf("no ack within %v: %w", patience, context.DeadlineExceeded)
	}
}

// isLate returns a channel that is closed after the patience of the first caller.
func (r *AckFuture) isLate(patience time.Duration) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late == nil && r.missing > 0 {
		late := make(chan struct{})
		r.late, r.patience = late, time.AfterFunc(patience, func() { close(late) })
	}
	return r.late
}

// expect counts a message that is about to be handed over.
func (r *AckFuture) expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing++
}

// finishSending is called when all messages are handed over.
func (r *AckFuture) finishSending() { r.recordAck(nil) }

// recordAck records the journal's answer for one message.
func (r *AckFuture) recordAck(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	if r.missing--; r.missing == 0 {
		close(r.done)
		if r.patience != nil {
			r.patience.Stop()
		}
	}
}

// fail records that a fact will not be kept. It does nothing for a nil future, which no caller
// waits for.
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
