package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that the first SIGINT or SIGTERM cancels. The second one ends the
// process at once with status 130, the usual status after SIGINT. The context's cause names the
// signal. stop ends the handling of signals.
func Context(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := cancelOnSignal(parent, signals, func() {
		fmt.Fprintln(os.Stderr, "stopped at once")
		os.Exit(130)
	})
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// cancelOnSignal cancels the context at the first signal and calls quit at the second one. The
// cancel function ends the goroutine.
func cancelOnSignal(parent context.Context, signals <-chan os.Signal, quit func()) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	over := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%w: signal %s", context.Canceled, s))
		case <-over:
			return
		}
		select {
		case <-signals:
			quit()
		case <-over:
		}
	}()
	return ctx, func() {
		cancel(nil)
		select {
		case <-over:
		default:
			close(over)
		}
	}
}
