package desk

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// line is where orders wait for their simulation: signers take turns, so that one who sends thousands does not make the others wait, and each
// signer's own orders keep their order. It is safe for concurrent use.
//
//	a: 1 4 7 8 9 ─┐
//	b: 2          ├─▶ 1 2 3 4 5 7 8 9
//	c: 3 5       ─┘
type line struct {
	mu      sync.Mutex // guards what follows
	signers []common.Address
	waiting map[common.Address][]*rpc.Order
	// round counts the blocks: who was taken out of the line in an earlier one stands in it again, if it should.
	round uint64
	// ready has a token when somebody waits; who takes one looks until the line is empty.
	ready chan struct{}
}

func newLine() *line {
	return &line{waiting: map[common.Address][]*rpc.Order{}, ready: make(chan struct{}, 1)}
}

// add puts an order at its signer's end.
func (l *line) add(order *rpc.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(order)
	l.tell()
}

func (l *line) addLocked(order *rpc.Order) {
	if len(l.waiting[order.Signer]) == 0 {
		l.signers = append(l.signers, order.Signer)
	}
	l.waiting[order.Signer] = append(l.waiting[order.Signer], order)
}

// replace puts other orders in place of all: a new block has come.
func (l *line) replace(orders []*rpc.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.waiting)
	l.signers = nil
	l.round++
	for _, order := range orders {
		l.addLocked(order)
	}
	l.tell()
}

// tell leaves a token if somebody waits.
func (l *line) tell() {
	if len(l.signers) == 0 {
		return
	}
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// next is the first order of the signer whose turn it is, with the round; nil when nobody waits.
func (l *line) next() (order *rpc.Order, round uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.signers) == 0 {
		return nil, l.round
	}
	signer := l.signers[0]
	l.signers = l.signers[1:]
	orders := l.waiting[signer]
	if len(orders) > 1 {
		l.waiting[signer] = orders[1:]
		l.signers = append(l.signers, signer)
	} else {
		delete(l.waiting, signer)
	}
	l.tell() // another worker may take what is left
	return orders[0], l.round
}

// isOver says whether a round is over.
func (l *line) isOver(round uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return round != l.round
}
