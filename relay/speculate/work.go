package speculate

import "sync/atomic"

// work is a computation that is done once, by the goroutine that calls do first; others wait for
// it. Waking a goroutine takes 0.1 ms or more. So if the goroutine that was started for the work
// has not begun yet, the caller that needs the result does the work itself. The function is
// forgotten when it has returned, so that what it holds can be freed. work is safe for concurrent
// use.
type work[T any] struct {
	begun atomic.Bool
	ended chan struct{} // closed when value is here
	run   func() T      // owned by the goroutine that has set begun
	value T
}

func newWork[T any](run func() T) *work[T] { return &work[T]{run: run, ended: make(chan struct{})} }

// do does the work, or waits for the goroutine that does it, and returns the result.
func (w *work[T]) do() T {
	if w.begun.CompareAndSwap(false, true) {
		defer close(w.ended)
		w.value, w.run = w.run(), nil
		return w.value
	}
	<-w.ended
	return w.value
}

// isBegun says whether a goroutine does the work, or has done it.
func (w *work[T]) isBegun() bool { return w.begun.Load() }

// isDone says whether do returns without waiting.
func (w *work[T]) isDone() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}
