package simulate

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/exec"
)

// ErrBusy refuses a simulation because too many wait: in its flow, of all strangers, or of all
// known senders.
var ErrBusy = errors.New("too many simulations wait")

// SchedulerOptions bound how many simulations run and wait.
type SchedulerOptions struct {
	// Running is how many simulations run at once; 0 is one for each processor.
	Running int
	// WaitingEach is how many may wait in one flow; 0 is 64. Waiting is how many simulations of
	// known senders may wait together; 0 is 1024. In addition half as many of strangers may wait.
	WaitingEach, Waiting int
}

// Scheduler decides which simulation runs next, by flows (exec.FairQueue). The flows take turns,
// however many simulations wait in each, and a flow is charged for the time of its simulations.
// Scheduler is safe for concurrent use.
type Scheduler struct {
	waitingEach, maxWaiting int

	mu   sync.Mutex // guards what follows
	fair *exec.FairQueue[exec.FlowKey, *job]
}

// job is one simulation that waits or runs.
type job struct {
	ticket  exec.FlowTicket[exec.FlowKey]
	granted chan struct{} // closed when it may run
}

// NewScheduler returns a scheduler without simulations.
func NewScheduler(options SchedulerOptions) *Scheduler {
	if options.Running <= 0 {
		options.Running = runtime.GOMAXPROCS(0)
	}
	t := &Scheduler{waitingEach: options.WaitingEach, maxWaiting: options.Waiting,
		fair: exec.NewFairQueue[exec.FlowKey, *job](options.Running)}
	if t.waitingEach <= 0 {
		t.waitingEach = 64
	}
	if t.maxWaiting <= 0 {
		t.maxWaiting = 1024
	}
	return t
}

// Do waits for the sender's turn and calls run on the caller's goroutine. The error is ErrBusy if
// too many wait, and the context's if it ended before run was called.
func (t *Scheduler) Do(ctx context.Context, who exec.Sender, run func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine, err := t.join(who)
	if err != nil {
		return err
	}
	select {
	case <-mine.granted:
	case <-ctx.Done():
		t.leave(who, mine)
		return ctx.Err()
	}
	began := time.Now()
	defer func() { t.finish(mine, time.Since(began)) }()
	if err := ctx.Err(); err != nil {
		return err
	}
	run(ctx)
	return nil
}

// join adds a simulation to its flow; it is granted at once if a place is free.
func (t *Scheduler) join(who exec.Sender) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine, key := &job{granted: make(chan struct{})}, who.Key()
	most := t.maxWaiting
	if !who.Known {
		most = max(most/2, 1)
	}
	if own, all := t.fair.Waiting(key, who.Known); own >= t.waitingEach || all >= most {
		return nil, ErrBusy
	}
	t.fair.Add(key, who.Known, mine)
	t.grant()
	return mine, nil
}

// finish gives the place back and grants it to the next simulation.
func (t *Scheduler) finish(mine *job, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fair.Done(mine.ticket, took)
	t.grant()
}

// leave takes a simulation out of its flow. If its place was granted meanwhile, leave gives the
// place back.
func (t *Scheduler) leave(who exec.Sender, mine *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fair.Remove(who.Key(), func(other *job) bool { return other == mine }) {
		t.fair.Done(mine.ticket, 0)
	}
	t.grant()
}

// grant lets the next simulations run while places are free.
func (t *Scheduler) grant() {
	for {
		next, ticket, ok := t.fair.Next()
		if !ok {
			return
		}
		next.ticket = ticket
		close(next.granted)
	}
}
