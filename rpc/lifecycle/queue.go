package lifecycle

import (
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec/lane"
	"github.com/gavel-relay/gavel/rpc"
)

// simQueue is where orders wait for their simulation, in lanes (package lane): who sends thousands,
// or what takes seconds, does not make the others wait, and each lane's orders keep their order.
// Calls wait elsewhere. It is safe for concurrent use.
type simQueue struct {
	isKnown func(signer common.Address) bool

	mu    sync.Mutex // guards what follows
	lanes *lane.Lanes[lane.Key, *rpc.Order]
	// round counts the blocks: who was taken out of the queue in an earlier one is in it again, if
	// it should.
	round uint64
	// readyOrders has a token when somebody may be next; who takes one looks until nobody is.
	ready chan struct{}
}

// turn is an order whose turn it is.
type turn struct {
	order  *rpc.Order
	ticket lane.Ticket[lane.Key]
	round  uint64
}

// newSimQueue is for so many workers.
func newSimQueue(workers int, known func(common.Address) bool) *simQueue {
	return &simQueue{isKnown: known, lanes: lane.New[lane.Key, *rpc.Order](workers), ready: make(chan struct{}, 1)}
}

// add puts an order at its lane's end.
func (q *simQueue) add(order *rpc.Order) {
	known := q.isKnown(order.Signer)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enqueue(order, known)
	q.wake()
}

func (q *simQueue) enqueue(order *rpc.Order, known bool) {
	q.lanes.Add(lane.Who{Signer: order.Signer, Source: order.Source, Known: known}.Key(), known, order)
}

// replace puts other orders in place of all: a new block has come.
func (q *simQueue) replace(orders []*rpc.Order) {
	known := map[common.Address]bool{}
	for _, order := range orders {
		if _, asked := known[order.Signer]; !asked {
			known[order.Signer] = q.isKnown(order.Signer)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes.Clear()
	q.round++
	for _, order := range orders {
		q.enqueue(order, known[order.Signer])
	}
	q.wake()
}

// wake leaves a token.
func (q *simQueue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next is the order whose turn it is; false when nobody's is. Its place is given back with done.
func (q *simQueue) next() (turn, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	order, ticket, ok := q.lanes.Next()
	if ok {
		q.wake() // another worker may take what is left
	}
	return turn{order, ticket, q.round}, ok
}

// done gives a place back after a time.
func (q *simQueue) done(t turn, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes.Done(t.ticket, took)
	q.wake()
}

// isOver says whether a round is over.
func (q *simQueue) isOver(round uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return round != q.round
}
