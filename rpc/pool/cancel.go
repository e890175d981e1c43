package pool

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends the live version of a replacementUuid and returns it, so that the caller can cancel
// it at builders. If there is none, the cancel is remembered all the same; that is not an error.
func (p *Pool) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) (*rpc.Order, []rpc.Fact) {
	if replacement == uuid.Nil {
		return nil, nil // unset: it names no order
	}
	next := p.head.Number + 1
	facts := p.applyAll(rpc.CancelNoted{At: at, Signer: signer, Replacement: replacement, Block: next,
		Barred: p.barredBy(signer, replacement, next)})
	live := p.keys[key{signer, replacement}].live
	if live == nil {
		return nil, facts
	}
	return live.order, append(facts, p.end(at, live, rpc.Cancelled, rpc.CancelledBySigner)...)
}

// CancelPrivate ends a private transaction. It returns nil if this signer has no live one with this
// hash, even if another signer has.
func (p *Pool) CancelPrivate(at time.Time, signer common.Address, hash common.Hash) (*rpc.Order, []rpc.Fact) {
	var cancelled *rpc.Order
	var facts []rpc.Fact
	own := p.byHash[signed{signer, hash}]
	for _, e := range slices.Clone(own) {
		if e.alive() && e.order.Kind == rpc.KindPrivate {
			cancelled = e.order
			facts = append(facts, p.end(at, e, rpc.Cancelled, rpc.CancelledBySigner)...)
		}
	}
	return cancelled, facts
}

// NotKept is the reason why an order ended whose signer was refused after the pool had accepted it.
const NotKept = "the journal did not keep it"

// Refuse ends an order that the journal did not keep, since it can't be promised. An order that has
// ended already stays as it is.
func (p *Pool) Refuse(at time.Time, id uint64) []rpc.Fact {
	e := p.entries[id]
	if e == nil || !e.alive() {
		return nil
	}
	return p.end(at, e, rpc.Failed, NotKept)
}

// end ends an order at the newest block, and all orders that follow it. If the order landed, its
// followers may have landed too; Block decides that afterwards.
func (p *Pool) end(at time.Time, e *entry, state rpc.State, reason string) []rpc.Fact {
	facts := p.applyAll(rpc.OrderEnded{
		At: at, OrderRef: e.order.Ref(), State: state, Reason: reason, Block: p.head.Number, BlockHash: p.head.Hash,
		Summary: e.summary(),
	})
	if state == rpc.Landed {
		return facts
	}
	return append(facts, p.endFollowers(at, e)...)
}
