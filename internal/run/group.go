package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Finished is what a task of Go returns when its end is the end of the whole process, and a good one.
var Finished = errors.New("finished") //nolint:revive,staticcheck // it is no failure: the name is read as run.Finished

// DefaultStopTimeout is how long a part may take to stop.
const DefaultStopTimeout = 10 * time.Second

// Group is the parts of a process. Add them in the order in which they start, then Run once. It is not safe for concurrent use
// before Run, and Run is the only method to call after that.
type Group struct {
	// StopTimeout is how long each part may take to stop, so that one that hangs takes nothing from the others; 0 is
	// DefaultStopTimeout.
	StopTimeout time.Duration
	// Log tells of each part's start and stop at debug, and of panics with their stacks. Nil discards.
	Log *slog.Logger

	parts []part
	fail  context.CancelCauseFunc // set by Run before the first part starts
}

type part struct {
	name        string
	start, stop func(context.Context) error
}

// failure is the cause with which a part ends the group; no cause of a parent context is one.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

// Add adds a part. start returns when the part is ready for those after it; its context ends when the group begins to stop, so that a
// part must not keep it for later work. stop returns when the part is still; its context ends at the deadline. Either may be nil.
func (g *Group) Add(name string, start, stop func(context.Context) error) {
	g.parts = append(g.parts, part{name, start, stop})
}

// Go adds a part that is one function: it begins in its place in the order and runs until its context ends, which happens when it is
// its turn to stop. An error stops the whole group; nil only says that there is no more to do.
func (g *Group) Go(name string, run func(context.Context) error) {
	var (
		cancel context.CancelFunc
		done   = make(chan struct{})
	)
	g.Add(name, func(ctx context.Context) error {
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			defer close(done)
			if err := g.guard(name, run, ctx); err != nil && ctx.Err() == nil {
				g.fail(&failure{err})
			}
		}()
		return nil
	}, func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Run starts the parts in order, waits until the context ends, a part fails, or a task has Finished, and stops those that were started
// in reverse order. Its error is the first failure, with what went wrong at stopping behind it; the end of the context is no failure.
func (g *Group) Run(ctx context.Context) error {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g.fail = fail

	started := g.start(running)
	<-running.Done()

	var first *failure
	errs := []error(nil)
	if errors.As(context.Cause(running), &first) && !errors.Is(first.err, Finished) {
		errs = append(errs, first.err)
	}
	return join(append(errs, g.stop(ctx, started)...))
}

// start returns the parts that must be stopped again. It fails the group when a part does not start.
func (g *Group) start(ctx context.Context) []part {
	for i, p := range g.parts {
		if ctx.Err() != nil {
			return g.parts[:i]
		}
		if p.start == nil {
			continue
		}
		g.log().Debug("start", "part", p.name)
		if err := g.guard("start "+p.name, p.start, ctx); err != nil {
			if ctx.Err() == nil { // else it was told to give up
				g.fail(&failure{err})
			}
			return g.parts[:i]
		}
	}
	return g.parts
}

// stop stops parts in reverse order and says what went wrong.
func (g *Group) stop(ctx context.Context, parts []part) []error {
	var errs []error
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].stop == nil {
			continue
		}
		g.log().Debug("stop", "part", parts[i].name)
		if err := g.stopOne(context.WithoutCancel(ctx), parts[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// stopOne stops a part. One that does not heed its deadline is left behind: the process is about to end.
func (g *Group) stopOne(ctx context.Context, p part) error {
	timeout := g.StopTimeout
	if timeout == 0 {
		timeout = DefaultStopTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- g.guard("stop "+p.name, p.stop, ctx) }()
	select {
	case err := <-stopped:
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	case <-ctx.Done():
	}
	return fmt.Errorf("stop %s: not still after %v", p.name, timeout)
}

// guard calls a function of a part; its panic is an error, whose stack goes to the log.
func (g *Group) guard(action string, call func(context.Context) error, ctx context.Context) (err error) { //nolint:revive // call(ctx) reads in this order
	defer func() {
		if r := recover(); r != nil {
			g.log().Error("panic", "action", action, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", action, r)
		}
	}()
	if err := call(ctx); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

func (g *Group) log() *slog.Logger {
	if g.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return g.Log
}

// join is errors.Join in one line.
func join(errs []error) error {
	var all error
	for _, err := range errs {
		if all == nil {
			all = err
		} else {
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}
