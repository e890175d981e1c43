package simulate

import (
	"container/heap"
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// ErrBusy refuses a simulation because as many wait as may: its signer's, or everybody's.
var ErrBusy = errors.New("too many simulations wait")

// TurnOptions bound simulations.
type TurnOptions struct {
	// Running is how many run at once; 0 is one for each processor.
	Running int
	// WaitingEach and Waiting are how many may wait, of one signer and in all; 0 are 64 and 1024.
	WaitingEach, Waiting int
}

// Turns says who may simulate when. Signers that wait take turns, one simulation each, however many one of them has waiting; in a turn those of
// high reputation go first. A signer that comes while others wait joins the turn that is on, unless it had its part of it already. It is safe for
// concurrent use.
//
//	turn 7: [high b] [c] ─▶ running (n at most)
//	turn 8: [a, with 63 behind it]
type Turns struct {
	running, waitingEach, waitingMax int

	mu      sync.Mutex // guards what follows
	free    int        // how many more may run
	waiting int        // over all signers
	arrived uint64     // counts arrivals, for order among equals
	turn    uint64     // the turn that is on, from 1; 0 if nobody is here
	// left is how many simulations the turn still lasts at most. They are as many as signers waited when it began: those who come later cannot
	// prolong it, however many they are.
	left    int
	signers map[common.Address]*queue
	order   turnOrder // of all queues in which somebody waits
}

// queue is a signer. It is kept while something waits in it, and until its turn is over.
type queue struct {
	waiting []*turn
	// turn is the next one that it may take part in.
	turn  uint64
	index int // in the order; -1 if nothing waits
}

// turn is one simulation that waits.
type turn struct {
	high    bool
	arrived uint64
	granted chan struct{} // closed when it may run
}

// NewTurns returns turns of which none is taken.
func NewTurns(options TurnOptions) *Turns {
	t := &Turns{
		running: options.Running, waitingEach: options.WaitingEach, waitingMax: options.Waiting, signers: map[common.Address]*queue{},
	}
	if t.running <= 0 {
		t.running = runtime.GOMAXPROCS(0)
	}
	t.free = t.running
	if t.waitingEach <= 0 {
		t.waitingEach = 64
	}
	if t.waitingMax <= 0 {
		t.waitingMax = 1024
	}
	return t
}

// Do runs something in its turn, on the caller's goroutine, and returns its own error: ErrBusy if too many wait, the context's if it ended first.
func (t *Turns) Do(ctx context.Context, signer common.Address, high bool, run func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine, err := t.join(signer, high)
	if err != nil {
		return err
	}
	select {
	case <-mine.granted:
	case <-ctx.Done():
		t.leave(signer, mine)
		return ctx.Err()
	}
	defer t.finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	run(ctx)
	return nil
}

// join gets in line, or past it if nobody waits.
func (t *Turns) join(signer common.Address, high bool) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := &turn{high: high, arrived: t.arrived, granted: make(chan struct{})}
	t.arrived++
	q := t.signers[signer]
	if q == nil {
		q = &queue{index: -1}
	}
	// Nobody waits while there is room, so whoever finds room is not counted as waiting.
	if t.free == 0 && (t.waiting >= t.waitingMax || len(q.waiting) >= t.waitingEach) {
		return nil, ErrBusy
	}
	t.signers[signer] = q
	q.waiting = append(q.waiting, mine)
	t.waiting++
	if q.index < 0 {
		q.turn = max(q.turn, t.turn, 1)
		heap.Push(&t.order, q)
	}
	t.grant()
	return mine, nil
}

// finish makes room for the next.
func (t *Turns) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	t.grant()
}

// leave gives a place in line back, or the turn itself if it was granted meanwhile.
func (t *Turns) leave(signer common.Address, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine.granted:
		t.free++
		t.grant()
		return
	default:
	}
	q := t.signers[signer]
	t.remove(q, slices.Index(q.waiting, mine))
}

// grant lets the next ones run while there is room.
func (t *Turns) grant() {
	for t.free > 0 && len(t.order) > 0 {
		q := t.order[0]
		t.advance(q.turn)
		q.turn++
		next := q.waiting[0]
		t.remove(q, 0)
		t.free--
		close(next.granted)
	}
	if t.free == t.running { // whoever comes next finds nobody to be fair to
		clear(t.signers)
		t.turn, t.left = 0, 0
	}
}

// advance counts a simulation of a turn, and begins the next turn when that one is there or this one is used up.
func (t *Turns) advance(turn uint64) {
	if turn > t.turn || t.left == 0 {
		t.turn, t.left = max(turn, t.turn+1), len(t.order)
		maps.DeleteFunc(t.signers, func(_ common.Address, q *queue) bool { return q.index < 0 && q.turn <= t.turn })
	}
	t.left--
}

// remove takes a simulation out of its line.
func (t *Turns) remove(q *queue, i int) {
	q.waiting = slices.Delete(q.waiting, i, i+1)
	t.waiting--
	if len(q.waiting) == 0 {
		heap.Remove(&t.order, q.index)
	} else {
		heap.Fix(&t.order, q.index)
	}
}

// turnOrder is a heap (container/heap) of the queues in which somebody waits.
type turnOrder []*queue

func (o turnOrder) Len() int { return len(o) }

func (o turnOrder) Less(i, j int) bool {
	a, b := o[i], o[j]
	switch x, y := a.waiting[0], b.waiting[0]; {
	case a.turn != b.turn:
		return a.turn < b.turn
	case x.high != y.high:
		return x.high
	default:
		return x.arrived < y.arrived
	}
}

func (o turnOrder) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i, j
}

// Push implements heap.Interface.
func (o *turnOrder) Push(x any) {
	q := x.(*queue)
	q.index = len(*o)
	*o = append(*o, q)
}

// Pop implements heap.Interface.
func (o *turnOrder) Pop() any {
	last := len(*o) - 1
	q := (*o)[last]
	(*o)[last] = nil
	*o, q.index = (*o)[:last], -1
	return q
}
