package speculate

import "sync/atomic"

// work is done once, by whoever needs it first; others wait. A goroutine takes 0.1 ms and more to
// wake, so whoever needs a result does not wait for the goroutine that was started for it to begin.
// What the work was made of is forgotten when it is done. It is safe for concurrent use.
type work[T any] struct {
	begun atomic.Bool
	ended chan struct{} // closed when value is here
	run   func() T      // owned by who has begun
	value T
}

func newWork[T any](run func() T) *work[T] { return &work[T]{run: run, ended: make(chan struct{})} }

// do does the work, or waits for who does it, and returns its result.
func (w *work[T]) do() T {
	if w.begun.CompareAndSwap(false, true) {
		defer close(w.ended)
		w.value, w.run = w.run(), nil
		return w.value
	}
	<-w.ended
	return w.value
}

// isBegun says that somebody does the work, or has done it.
func (w *work[T]) isBegun() bool { return w.begun.Load() }

// isDone says that do will not wait.
func (w *work[T]) isDone() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}
