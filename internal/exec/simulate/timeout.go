package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
)

// errStopped ends a run whose result no longer counts; within returns the reason.
var errStopped = errors.New("stopped")

// within opens a block and calls run with it, for as long as the context and the timeout allow (0
// is no timeout). The timeout also ends loops inside a transaction and reads of a remote state. The
// error of run is returned only if neither the time was over nor a read of the state failed.
func (s *Simulator) within(
	ctx context.Context, timeout time.Duration, env exec.Environment, header func(*State) *types.Header,
	run func(*block) error,
) error {
	timed := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeoutCause(ctx, timeout, exec.ErrTimeout)
		defer cancel()
	}
	st, err := s.states.At(timed, env)
	if late := over(ctx, timed); late != nil {
		return late
	}
	if err != nil {
		return fmt.Errorf("open state: %w", err)
	}
	b := s.begin(timed, st, header(st))
	defer b.evm.Release()
	defer context.AfterFunc(timed, b.evm.Cancel)()
	err = run(b)
	if late := over(ctx, timed); late != nil {
		return late
	}
	if unread := readError(st.DB); unread != nil {
		return unread
	}
	return err
}

// over is the error if a time is over: the caller's context's, or the simulation's timeout.
func over(ctx, timed context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case timed.Err() != nil:
		return context.Cause(timed)
	default:
		return nil
	}
}

// isStopped says whether to end the run: the time is over, or the state cannot be read.
func (b *block) isStopped() bool { return b.evm.Cancelled() || b.DB.Error() != nil }

// timeoutOf is the environment's timeout, or the simulator's.
func (s *Simulator) timeoutOf(env exec.Environment) time.Duration {
	if env.Timeout > 0 {
		return env.Timeout
	}
	return s.timeout
}
