package run

import (
	"context"
	"errors"
	"time"
)

// Opened collects what a service has opened and must close. The zero value is ready for use. It is
// for one goroutine.
type Opened struct{ closers []func(context.Context) error }

// Add adds a function that closes what was opened just now.
func (o *Opened) Add(closer func(context.Context) error) { o.closers = append(o.closers, closer) }

// AddCloser is Add for a function without a context.
func (o *Opened) AddCloser(closer func() error) {
	o.Add(func(context.Context) error { return closer() })
}

// Close closes everything within the timeout, what was opened last first, and joins the errors. A
// failure does not keep the others open. Each may take half of the time that is left, and the last
// one all of it; Close goes on without one that takes longer. A second call does nothing.
func (o *Opened) Close(timeout time.Duration) error {
	end := time.Now().Add(timeout)
	var errs []error
	for i := len(o.closers) - 1; i >= 0; i-- {
		left := time.Until(end)
		if i > 0 {
			left /= 2
		}
		errs = append(errs, closeWithin(left, o.closers[i]))
	}
	o.closers = nil
	return errors.Join(errs...)
}

// errHangs says that something did not close in its time.
var errHangs = errors.New("a store was not closed, since it does not answer")

func closeWithin(span time.Duration, closer func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- closer(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	// The closer may have seen the end of its context, and be about to return its error.
	timer := time.NewTimer(min(span/10, lastWord))
	defer timer.Stop()
	select {
	case err := <-closed:
		return err
	case <-timer.C:
		return errHangs
	}
}

// lastWord is how long a closer may take to return after its context has ended (wall time).
const lastWord = 100 * time.Millisecond
