package desk

import (
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec/lane"
	"github.com/gavel-relay/gavel/rpc"
)

// line is where orders wait for their simulation, in lanes (package lane): who sends thousands, or
// what takes seconds, does not make the others wait, and each lane's orders keep their order. Calls
// wait elsewhere. It is safe for concurrent use.
type line struct {
	known func(signer common.Address) bool

	mu    sync.Mutex // guards what follows
	lanes *lane.Lanes[lane.Key, *rpc.Order]
	// round counts the blocks: who was taken out of the line in an earlier one stands in it again, if
	// it should.
	round uint64
	// ready has a token when somebody may be next; who takes one looks until nobody is.
	ready chan struct{}
}

// turn is an order whose turn it is.
type turn struct {
	order  *rpc.Order
	ticket lane.Ticket[lane.Key]
	round  uint64
}

// newLine is for so many workers.
func newLine(workers int, known func(common.Address) bool) *line {
	return &line{known: known, lanes: lane.New[lane.Key, *rpc.Order](workers), ready: make(chan struct{}, 1)}
}

// add puts an order at its lane's end.
func (l *line) add(order *rpc.Order) {
	known := l.known(order.Signer)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(order, known)
	l.tell()
}

func (l *line) enter(order *rpc.Order, known bool) {
	l.lanes.Add(lane.Who{Signer: order.Signer, Source: order.Source, Known: known}.Key(), known, order)
}

// replace puts other orders in place of all: a new block has come.
func (l *line) replace(orders []*rpc.Order) {
	known := map[common.Address]bool{}
	for _, order := range orders {
		if _, asked := known[order.Signer]; !asked {
			known[order.Signer] = l.known(order.Signer)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes.Clear()
	l.round++
	for _, order := range orders {
		l.enter(order, known[order.Signer])
	}
	l.tell()
}

// tell leaves a token.
func (l *line) tell() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// next is the order whose turn it is; false when nobody's is. Its place is given back with done.
func (l *line) next() (turn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	order, ticket, ok := l.lanes.Next()
	if ok {
		l.tell() // another worker may take what is left
	}
	return turn{order, ticket, l.round}, ok
}

// done gives a place back after a time.
func (l *line) done(t turn, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes.Done(t.ticket, took)
	l.tell()
}

// isOver says whether a round is over.
func (l *line) isOver(round uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return round != l.round
}
