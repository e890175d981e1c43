package run

import (
	"context"
	"errors"
	"time"
)

// Opened is what a service has opened and must close again. The zero value is ready; it is for one goroutine.
type Opened struct{ closers []func(context.Context) error }

// Add remembers how to close what was opened just now.
func (o *Opened) Add(closer func(context.Context) error) { o.closers = append(o.closers, closer) }

// AddCloser is Add for what needs no deadline.
func (o *Opened) AddCloser(closer func() error) {
	o.Add(func(context.Context) error { return closer() })
}

// Close closes the last that was opened first, all within the timeout, and joins what went wrong: one that cannot be closed keeps no
// other open. A second call has nothing to do.
func (o *Opened) Close(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var errs []error
	for i := len(o.closers) - 1; i >= 0; i-- {
		errs = append(errs, o.closers[i](ctx))
	}
	o.closers = nil
	return errors.Join(errs...)
}
