package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Block takes the next block of the chain, by the hashes of its transactions in order. Orders that are in it land; those that it leaves without one
// of their transactions fail; and those whose last block it is expire. It returns the orders that landed, by id.
func (p *Pool) Block(at time.Time, head rpc.Head, txs []common.Hash) (landed []*rpc.Order, facts []rpc.Fact) {
	place := make(map[common.Hash]int, len(txs))
	for i, hash := range txs {
		place[hash] = i
	}
	for _, e := range p.touched(txs) {
		end := endedBy(at, head, e.order, rpc.Landed, "")
		if why := missing(e.order, place); why != "" {
			end = endedBy(at, head, e.order, rpc.Failed, why)
		} else {
			landed = append(landed, e.order)
		}
		facts = append(facts, end)
	}
	p.applied(facts...)
	expired := p.expired(at, head)
	p.applied(expired...)
	p.forget(head.Number)
	return landed, append(facts, expired...)
}

// endedBy is an end that the chain's leaving the block would take back.
func endedBy(at time.Time, head rpc.Head, order *rpc.Order, state rpc.State, reason string) rpc.OrderEnded {
	end := ended(at, head, order, state, reason)
	end.BlockHash = head.Hash
	return end
}

// touched are the live orders that need one of the transactions, by id.
func (p *Pool) touched(txs []common.Hash) []*entry {
	var list []*entry
	for _, hash := range txs {
		for e := range p.byTx[hash] {
			list = append(list, e)
		}
	}
	return byID(list)
}

// byID are entries in the order of their ids, each once.
func byID(list []*entry) []*entry {
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.order.ID, b.order.ID) })
	return slices.Compact(list)
}

// missing says why an order is not in a block as a whole, although a part of it is; empty if it is.
func missing(order *rpc.Order, place map[common.Hash]int) string {
	before := -1
	for _, hash := range required(order) {
		at, there := place[hash]
		switch {
		case !there:
			return "a part of it is on the chain without " + hash.Hex()
		case at < before:
			return "its transactions are on the chain in another order"
		}
		before = at
	}
	return ""
}

// expired ends the orders whose last block is not after the head.
func (p *Pool) expired(at time.Time, head rpc.Head) (facts []rpc.Fact) {
	var over []*entry
	for last, list := range p.lastBlocks {
		if last > head.Number {
			continue
		}
		for _, e := range list {
			if e.end == nil {
				over = append(over, e)
			}
		}
		delete(p.lastBlocks, last)
	}
	for _, e := range byID(over) {
		facts = append(facts, endedBy(at, head, e.order, rpc.Expired, ""))
	}
	return facts
}

// Reverted takes back a block that the chain has left: what ended by it lives again, unless its signer has put something in its place meanwhile.
func (p *Pool) Reverted(at time.Time, head rpc.Head) (facts []rpc.Fact) {
	var back []*entry
	for _, e := range p.ended[head.Number] {
		if e.end != nil && e.end.BlockHash == head.Hash && head.Hash != (common.Hash{}) {
			back = append(back, e)
		}
	}
	for _, e := range byID(back) {
		if p.byName[nameOf(e.order)] == nil {
			facts = append(facts, rpc.OrderReturned{At: at, OrderRef: e.order.Ref()})
		}
	}
	return p.applied(facts...)
}
