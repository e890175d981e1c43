package simulate

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/exec"
)

// ErrBusy refuses a simulation because too many wait: in its lane, of all strangers, or of all
// known senders.
var ErrBusy = errors.New("too many simulations wait")

// TurnOptions bound how many simulations run and wait.
type TurnOptions struct {
	// Running is how many simulations run at once; 0 is one for each processor.
	Running int
	// WaitingEach is how many may wait in one lane; 0 is 64. Waiting is how many simulations of
	// known senders may wait together; 0 is 1024. In addition half as many of strangers may wait.
	WaitingEach, Waiting int
}

// Turns decides which simulation runs next, by lanes (package lane). The lanes take turns, however
// many simulations wait in each, and a lane is charged for the time of its simulations. Turns is
// safe for concurrent use.
type Turns struct {
	waitingEach, waitingMax int

	mu    sync.Mutex // guards what follows
	lanes *exec.Lanes[exec.LaneKey, *turn]
}

// turn is one simulation that waits or runs.
type turn struct {
	ticket  exec.LaneTicket[exec.LaneKey]
	granted chan struct{} // closed when it may run
}

// NewTurns returns Turns without simulations.
func NewTurns(options TurnOptions) *Turns {
	if options.Running <= 0 {
		options.Running = runtime.GOMAXPROCS(0)
	}
	t := &Turns{waitingEach: options.WaitingEach, waitingMax: options.Waiting,
		lanes: exec.NewLanes[exec.LaneKey, *turn](options.Running)}
	if t.waitingEach <= 0 {
		t.waitingEach = 64
	}
	if t.waitingMax <= 0 {
		t.waitingMax = 1024
	}
	return t
}

// Do waits for the sender's turn and calls run on the caller's goroutine. The error is ErrBusy if
// too many wait, and the context's if it ended before run was called.
func (t *Turns) Do(ctx context.Context, who exec.Sender, run func(context.Context)) error {
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

// join adds a simulation to its lane; it is granted at once if a place is free.
func (t *Turns) join(who exec.Sender) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine, key := &turn{granted: make(chan struct{})}, who.Key()
	most := t.waitingMax
	if !who.Known {
		most = max(most/2, 1)
	}
	if own, all := t.lanes.Waiting(key, who.Known); own >= t.waitingEach || all >= most {
		return nil, ErrBusy
	}
	t.lanes.Add(key, who.Known, mine)
	t.grant()
	return mine, nil
}

// finish gives the place back and grants it to the next simulation.
func (t *Turns) finish(mine *turn, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lanes.Done(mine.ticket, took)
	t.grant()
}

// leave takes a simulation out of its lane. If its place was granted meanwhile, leave gives the
// place back.
func (t *Turns) leave(who exec.Sender, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lanes.Remove(who.Key(), func(other *turn) bool { return other == mine }) {
		t.lanes.Done(mine.ticket, 0)
	}
	t.grant()
}

// grant lets the next simulations run while places are free.
func (t *Turns) grant() {
	for {
		next, ticket, ok := t.lanes.Next()
		if !ok {
			return
		}
		next.ticket = ticket
		close(next.granted)
	}
}
