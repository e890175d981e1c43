package pool

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends what a signer has under a name, and keeps out for a while what comes under it: for the blocks that the cancelled version was for, or,
// if there is none, for the next block. It returns the orders that it ended.
func (p *Pool) Cancel(at time.Time, head rpc.Head, signer common.Address, replacement uuid.UUID) ([]*rpc.Order, []rpc.Fact) {
	n := name{signer, replacement}
	note := rpc.CancelNoted{At: at, Signer: signer, Replacement: replacement, Block: head.Number + 1}
	p.forgetCancels(at)
	e := p.byName[n]
	if e == nil {
		return nil, p.applied(note)
	}
	end := ended(at, head, e.order, rpc.Cancelled, "")
	if p.cfg.Revive {
		return []*rpc.Order{e.order}, p.applied(end)
	}
	note.Block = e.order.Bundle.Window.LastBlock
	return []*rpc.Order{e.order}, p.applied(end, note)
}

// forgetCancels drops cancels that have no effect any more.
func (p *Pool) forgetCancels(at time.Time) {
	if len(p.cancels) < p.cfg.MaxOrders { // else the map is looked through at each call, which is what bounds it
		return
	}
	for n, c := range p.cancels {
		if at.Sub(c.at) > p.cfg.RememberCancels {
			delete(p.cancels, n)
		}
	}
}

// CancelPrivate ends a live private transaction of a signer. It returns nothing if there is none.
func (p *Pool) CancelPrivate(at time.Time, head rpc.Head, signer common.Address, txHash common.Hash) (orders []*rpc.Order, facts []rpc.Fact) {
	for _, e := range p.byHash[title{signer, txHash}] {
		if e.end == nil && e.order.Kind == rpc.KindPrivate {
			orders = append(orders, e.order)
			facts = append(facts, ended(at, head, e.order, rpc.Cancelled, ""))
		}
	}
	return orders, p.applied(facts...)
}
