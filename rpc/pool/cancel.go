package pool

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends the version of a replacementUuid that is in force, and returns it: builders that had
// it want to know. When there is none the cancel is remembered all the same, which is no error.
func (p *Pool) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) (*rpc.Order, []rpc.Fact) {
	if replacement == uuid.Nil {
		return nil, nil // unset, it names nothing
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

// CancelPrivate ends a private transaction. It returns nil when this signer has none with this hash
// alive, whoever else may have one.
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

// NotKept is the reason in the end of an order that its signer was refused after the pool had it.
const NotKept = "the journal did not keep it"

// Refuse ends an order that was not kept, so that nothing can be promised of it. One that has ended
// stays as it is.
func (p *Pool) Refuse(at time.Time, id uint64) []rpc.Fact {
	e := p.entries[id]
	if e == nil || !e.alive() {
		return nil
	}
	return p.end(at, e, rpc.Failed, NotKept)
}

// end ends an order at the newest block, and with it all that follow it; but who followed one that
// landed may have landed too, which is seen later.
func (p *Pool) end(at time.Time, e *entry, state rpc.State, reason string) []rpc.Fact {
	facts := p.applyAll(rpc.OrderEnded{
		At: at, OrderRef: e.order.Ref(), State: state, Reason: reason, Block: p.head.Number, BlockHash: p.head.Hash,
		Life: e.life(),
	})
	if state == rpc.Landed {
		return facts
	}
	return append(facts, p.endFollowers(at, e)...)
}
