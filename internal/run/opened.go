package run

import (
	"context"
	"errors"
	"time"
)

// Opened is what a service has opened and must close again. The zero value is ready; it is for one
// goroutine.
type Opened struct{ closers []func(context.Context) error }

// Add remembers how to close what was opened just now.
func (o *Opened) Add(closer func(context.Context) error) { o.closers = append(o.closers, closer) }

// AddCloser is Add for what needs no deadline.
func (o *Opened) AddCloser(closer func() error) {
	o.Add(func(context.Context) error { return closer() })
}

// Close closes the last that was opened first, all within the timeout, and joins what went wrong:
// one that cannot be closed keeps no other open. One that hangs has half of the time that is left,
// and is left behind then. A second call has nothing to do.
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

// errHangs says that something did not close in its time, and may never.
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
	// It may have seen the end of its time, and be about to say so.
	timer := time.NewTimer(min(span/10, lastWord))
	defer timer.Stop()
	select {
	case err := <-closed:
		return err
	case <-timer.C:
		return errHangs
	}
}

// lastWord is how long something whose time is over may take to say so (wall time).
const lastWord = 100 * time.Millisecond
