package pool

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// alreadyOnChain is the reason why an order ended of which a transaction was included on its own.
const alreadyOnChain = "transaction already on the chain"

// Block applies the newest block of the chain, with its transactions in their order, and returns
// the facts of the orders that it ends. It must be called for every block; after a restart, it
// begins with the chain's newest block. The caller sets ValueWei of landed orders when it has
// executed the block.
//
// A cancelled order stays cancelled even if a builder put it into the block all the same.
func (p *Pool) Block(at time.Time, head rpc.Head, txs []common.Hash) []rpc.Fact {
	p.head = head
	var facts []rpc.Fact
	place := placesByHash(txs)
	touched := p.ordersWith(txs)
	for _, e := range touched {
		if e.alive() { // may have ended together with the order that it followed
			facts = append(facts, p.endIncluded(at, e, place)...)
		}
	}
	for _, e := range touched {
		if e.state == rpc.Landed {
			facts = append(facts, p.endFollowers(at, e)...)
		}
	}
	for _, e := range p.overdue() {
		if e.alive() {
			facts = append(facts, p.expire(at, e)...)
		}
	}
	p.forget(at)
	return facts
}

// LandedIn are the orders that landed in a block, in the order in which they came, even if an
// earlier run recorded that they landed.
func (p *Pool) LandedIn(block rpc.Head) []*rpc.Order {
	var orders []*rpc.Order
	for _, e := range p.endedBy(block) {
		if e.state == rpc.Landed {
			orders = append(orders, e.order)
		}
	}
	return orders
}

// ordersWith are the live orders that have a transaction in a block, in the order in which they
// came.
func (p *Pool) ordersWith(txs []common.Hash) []*entry {
	found := make(map[uint64]*entry)
	for _, tx := range txs {
		for _, e := range p.byTx[tx] {
			found[e.order.ID] = e
		}
	}
	return byID(found)
}

// endIncluded ends an order that has a transaction in the newest block. It landed if all its
// transactions that must not be dropped are in the block, in their order, and the block is in its
// window. Otherwise it failed, if one of these transactions is on the chain without the others.
func (p *Pool) endIncluded(at time.Time, e *entry, place map[common.Hash]int) []rpc.Fact {
	used := false
	for tx := range e.order.Bundle.Transactions() {
		_, in := place[tx.Hash]
		used = used || in && !tx.CanDrop
	}
	switch {
	case isIncluded(e.order, place, p.head):
		return p.end(at, e, rpc.Landed, "")
	case used && p.leaderIs(e, rpc.Landed):
		return p.end(at, e, rpc.Failed, leaderLanded)
	case used:
		return p.end(at, e, rpc.Failed, alreadyOnChain)
	}
	return nil
}

// placesByHash are the indices of a block's transactions.
func placesByHash(txs []common.Hash) map[common.Hash]int {
	place := make(map[common.Hash]int, len(txs))
	for i, tx := range txs {
		place[tx] = i
	}
	return place
}

// isIncluded says whether all transactions of an order that must not be dropped are in a block, in
// their order, and the block is in the order's window.
func isIncluded(order *rpc.Order, place map[common.Hash]int, block rpc.Head) bool {
	last := -1
	for tx := range order.Bundle.Transactions() {
		i, in := place[tx.Hash]
		if !in && !tx.CanDrop || in && i <= last {
			return false
		}
		if in {
			last = i
		}
	}
	return last >= 0 && includesOwn(order, place) && order.Bundle.Window.Holds(block.Number, block.Timestamp)
}

// overdue are the live orders whose window has no block after the newest one, in the order in which
// they came.
func (p *Pool) overdue() []*entry {
	found := make(map[uint64]*entry)
	for block, at := range p.blocks {
		if block <= p.swept || block > p.head.Number {
			continue
		}
		for _, handle := range at.handles {
			cell := p.slab.get(handle)
			if cell == nil {
				continue
			}
			window := p.slab.orders[handle.cell].Bundle.Window
			if window.LastBlock <= p.head.Number || isOver(window, p.head.Timestamp) {
				found[cell.id] = p.entries[cell.id]
			}
		}
	}
	p.swept = p.head.Number
	return byID(found)
}

// isOver says whether all blocks after one with this time are too late for a window.
func isOver(w rpc.Window, timestamp uint64) bool {
	return w.MaxTimestamp != 0 && w.MaxTimestamp <= timestamp
}

// expire ends an order whose window is over. If it was simulated and never succeeded, it failed,
// with the newest simulation's error as the reason. This is left out for an order that follows
// another one, because it would reveal something about that one.
func (p *Pool) expire(at time.Time, e *entry) []rpc.Fact {
	if e.order.Follows != 0 {
		return p.end(at, e, rpc.Expired, "")
	}
	if n := len(e.simulations); n > 0 && e.succeededAt.IsZero() {
		return p.end(at, e, rpc.Failed, e.simulations[n-1].Error)
	}
	return p.end(at, e, rpc.Expired, "")
}

func byID(entries map[uint64]*entry) []*entry {
	return slices.SortedFunc(maps.Values(entries), func(a, b *entry) int { return cmp.Compare(a.order.ID, b.order.ID) })
}
