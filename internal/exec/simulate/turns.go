package simulate

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/exec/lane"
)

// ErrBusy refuses a simulation because as many wait as may: its lane's, or those of all strangers,
// or of all who are known.
var ErrBusy = errors.New("too many simulations wait")

// TurnOptions bound simulations.
type TurnOptions struct {
	// Running is how many run at once; 0 is one for each processor.
	Running int
	// WaitingEach and Waiting are how many may wait, in one lane and in all; 0 are 64 and 1024.
	// Strangers may be half of them.
	WaitingEach, Waiting int
}

// Turns says who may simulate when, by lanes (package lane): each takes turns with the others,
// however many simulations wait in it, and pays for the time that they take. It is safe for
// concurrent use.
type Turns struct {
	waitingEach, waitingMax int

	mu    sync.Mutex // guards what follows
	lanes *lane.Lanes[lane.Key, *turn]
}

// turn is one simulation that waits.
type turn struct {
	ticket  lane.Ticket[lane.Key]
	granted chan struct{} // closed when it may run
}

// NewTurns returns turns of which none is taken.
func NewTurns(options TurnOptions) *Turns {
	if options.Running <= 0 {
		options.Running = runtime.GOMAXPROCS(0)
	}
	t := &Turns{waitingEach: options.WaitingEach, waitingMax: options.Waiting,
		lanes: lane.New[lane.Key, *turn](options.Running)}
	if t.waitingEach <= 0 {
		t.waitingEach = 64
	}
	if t.waitingMax <= 0 {
		t.waitingMax = 1024
	}
	return t
}

// Do runs something in its turn, on the caller's goroutine, and returns its own error: ErrBusy if
// too many wait, the context's if it ended first.
func (t *Turns) Do(ctx context.Context, who lane.Who, run func(context.Context)) error {
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

// join gets in line, or past it if nobody waits.
func (t *Turns) join(who lane.Who) (*turn, error) {
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

// finish makes room for the next.
func (t *Turns) finish(mine *turn, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lanes.Done(mine.ticket, took)
	t.grant()
}

// leave gives a place in line back, or the turn itself if it was granted meanwhile.
func (t *Turns) leave(who lane.Who, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lanes.Remove(who.Key(), func(other *turn) bool { return other == mine }) {
		t.lanes.Done(mine.ticket, 0)
	}
	t.grant()
}

// grant lets the next ones run while there is room.
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
