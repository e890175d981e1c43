package pool

import (
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// Reverted takes back a block that is not part of the chain any more. Orders that it ended by
// including transactions are alive again, unless their signer has cancelled or replaced them since.
// Their windows are not over, since they reach at least to this block. Blocks must be taken back
// newest first.
func (p *Pool) Reverted(at time.Time, block rpc.Head) []rpc.Fact {
	p.head = rpc.Head{Number: block.Number - min(block.Number, 1)}
	p.swept = min(p.swept, p.head.Number)
	var facts []rpc.Fact
	for _, e := range p.endedBy(block) {
		if p.entries[e.order.ID] == nil {
			continue // forgotten: more orders ended than are kept, and it was the oldest
		}
		facts = append(facts, p.applyAll(rpc.OrderReturned{At: at, OrderRef: e.order.Ref()})...)
		facts = append(facts, p.reconsider(at, e)...)
	}
	return facts
}

// endedBy are the orders that a block's transactions ended, in the order in which they came.
func (p *Pool) endedBy(block rpc.Head) []*entry {
	found := make(map[uint64]*entry)
	for i := len(p.ended) - 1; i >= 0 && p.ended[i].block+reorgDepth >= block.Number; i-- {
		e := p.entries[p.ended[i].id]
		if e == nil || e.alive() || e.end.blockHash != block.Hash {
			continue
		}
		if e.state == rpc.Landed || e.state == rpc.Failed &&
			(e.end.reason == alreadyOnChain || e.end.reason == leaderLanded) {
			found[e.order.ID] = e
		}
	}
	return byID(found)
}

// reconsider ends a returned order again if something happened meanwhile that ends it.
func (p *Pool) reconsider(at time.Time, e *entry) []rpc.Fact {
	g, leader := p.keys[keyOf(e.order)], p.entries[e.order.Follows]
	switch {
	case leader != nil && !leader.alive():
		return p.endWith(at, leader, e)
	case leader == nil && e.order.Follows != 0: // the leader is forgotten and cannot come back
		return p.end(at, e, rpc.Failed, leaderFailed)
	case g != nil && g.live != e && g.live != nil:
		return p.end(at, e, rpc.Cancelled, rpc.ReplacedByVersion)
	case g != nil && e.order.ID <= g.cancelled:
		return p.end(at, e, rpc.Cancelled, rpc.CancelledBySigner)
	}
	return nil
}
