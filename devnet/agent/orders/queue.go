package orders

import (
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
)

// maxOrders bounds the waiting orders; a devnet has far fewer.
const maxOrders = 10_000

// queue has the orders that wait for their blocks. It is safe for concurrent use; the zero value is
// empty.
type queue struct {
	mu      sync.Mutex // guards the fields below
	arrived uint64
	orders  []*waiting // oldest first
}

// waiting is an order, with the block number for which it was tried first; 0 before that.
type waiting struct {
	*Order
	firstTried uint64
}

// add takes an order, and removes the one that it replaces. It returns false if there are too many.
func (q *queue) add(order *Order) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(order.Signer, order.Replacement)
	if len(q.orders) >= maxOrders {
		return false
	}
	q.arrived++
	order.arrival = q.arrived
	q.orders = append(q.orders, &waiting{Order: order})
	return true
}

// cancel forgets an order, and says whether there was one. Bids that were made with it stay.
func (q *queue) cancel(signer common.Address, replacement uuid.UUID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remove(signer, replacement)
}

// remove forgets an order, and says whether there was one. The caller holds mu.
func (q *queue) remove(signer common.Address, replacement uuid.UUID) bool {
	if replacement == uuid.Nil {
		return false
	}
	before := len(q.orders)
	q.orders = slices.DeleteFunc(q.orders, func(w *waiting) bool {
		return w.Signer == signer && w.Replacement == replacement
	})
	return len(q.orders) < before
}

// forBlock returns the orders that may be in a block with this number and time, oldest first. It
// forgets orders whose window is over for that block and for the one keptBlocks before it.
func (q *queue) forBlock(block, timestamp uint64) []*Order {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.orders = slices.DeleteFunc(q.orders, func(w *waiting) bool {
		return block > keptBlocks && w.Window.over(block-keptBlocks, timestamp, w.firstTried) &&
			w.Window.over(block, timestamp, w.firstTried)
	})
	var list []*Order
	for _, w := range q.orders {
		if w.firstTried == 0 && block >= w.Window.FirstBlock {
			w.firstTried = block
		}
		if w.Window.fits(block, timestamp, w.firstTried) {
			list = append(list, w.Order)
		}
	}
	return list
}

// keptBlocks is for how many blocks an order is kept after its window, because a re-organisation
// may make such a block necessary again.
const keptBlocks = 2
