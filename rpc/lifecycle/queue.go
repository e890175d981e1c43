package lifecycle

import (
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// simQueue has the orders that wait for their simulation, in flows (exec.FairQueue). So a signer
// who sends thousands, or orders that take seconds, do not make the others wait; within a flow,
// orders keep their order. Calls have a queue elsewhere. It is safe for concurrent use.
type simQueue struct {
	isKnown func(signer common.Address) bool

	mu   sync.Mutex // guards what follows
	fair *exec.FairQueue[exec.FlowKey, *rpc.Order]
	// round counts the blocks. An order that was taken out of the queue in an earlier round was
	// queued again in this one, if it is still ready.
	round uint64
	// ready has a token when there may be a next order. A worker that takes the token calls next
	// until there is none.
	ready chan struct{}
}

// turn is an order that is to be simulated now.
type turn struct {
	order  *rpc.Order
	ticket exec.FlowTicket[exec.FlowKey]
	round  uint64
}

// newSimQueue makes a queue for a number of workers.
func newSimQueue(workers int, known func(common.Address) bool) *simQueue {
	return &simQueue{isKnown: known, fair: exec.NewFairQueue[exec.FlowKey, *rpc.Order](workers),
		ready: make(chan struct{}, 1)}
}

// add puts an order at the end of its flow.
func (q *simQueue) add(order *rpc.Order) {
	known := q.isKnown(order.Signer)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enqueue(order, known)
	q.wake()
}

func (q *simQueue) enqueue(order *rpc.Order, known bool) {
	q.fair.Add(exec.Sender{Signer: order.Signer, Source: order.Source, Known: known}.Key(), known, order)
}

// replace replaces all waiting orders, because a new block has come.
func (q *simQueue) replace(orders []*rpc.Order) {
	known := map[common.Address]bool{}
	for _, order := range orders {
		if _, asked := known[order.Signer]; !asked {
			known[order.Signer] = q.isKnown(order.Signer)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fair.Clear()
	q.round++
	for _, order := range orders {
		q.enqueue(order, known[order.Signer])
	}
	q.wake()
}

// wake puts a token into ready.
func (q *simQueue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next returns the next order to simulate, false if there is none. The caller returns its place
// with done.
func (q *simQueue) next() (turn, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	order, ticket, ok := q.fair.Next()
	if ok {
		q.wake() // another worker may take the next one
	}
	return turn{order, ticket, q.round}, ok
}

// finish returns the place of an order whose simulation took this long.
func (q *simQueue) finish(t turn, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fair.Done(t.ticket, took)
	q.wake()
}

// isOver says whether a round is over.
func (q *simQueue) isOver(round uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return round != q.round
}
