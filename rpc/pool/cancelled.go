package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// bidsOutlive is for how many blocks after a cancel a bid may win that was placed before it:
// builders do not lower their bids.
const bidsOutlive = 2

// CancelledIn are the orders that a block with these transactions includes although they were
// cancelled or replaced, in the order in which they came: a builder had accepted them before, and
// the block is in their windows. They stay cancelled, but refunds of what they paid in the block
// are owed.
func (p *Pool) CancelledIn(block rpc.Head, txs []common.Hash) []*rpc.Order {
	place := placesByHash(txs)
	found := make(map[uint64]*entry)
	for i := len(p.ended) - 1; i >= 0 && p.ended[i].block+bidsOutlive >= block.Number; i-- {
		e := p.entries[p.ended[i].id]
		if e != nil && e.state == rpc.Cancelled && e.delivered && isIncluded(e.order, place, block) {
			found[e.order.ID] = e
		}
	}
	var orders []*rpc.Order
	for _, e := range byID(found) {
		orders = append(orders, e.order)
	}
	return orders
}
