package pool

import (
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// Apply changes the pool as a fact says. Orders and cancels change in no other way, except that
// Block forgets old ones and SetPaid stores what an order paid. Apply ignores facts that do not
// concern the pool, facts of orders that it does not know, and facts that it has applied already: a
// journal may begin in the middle of an order's life, and repeat facts.
func (p *Pool) Apply(fact rpc.Fact) {
	switch fact := fact.(type) {
	case rpc.OrderAccepted:
		p.accept(fact.Order, fact.From)
	case rpc.OrderExtended:
		if e := p.entries[fact.ID]; e != nil && e.alive() {
			p.extend(e, fact.Window)
		}
	case rpc.OrderSimulated:
		if e := p.entries[fact.ID]; e != nil && e.alive() {
			e.noteSimulated(fact.At, fact.Simulation)
			p.slab.all[e.cell].rank = rankOf(e.valueWei())
		}
	case rpc.OrderShared:
		if e := p.entries[fact.ID]; e != nil && !e.shared {
			p.markShared(e)
		}
	case rpc.OrderSent:
		if e := p.entries[fact.ID]; e != nil {
			e.noteSent(fact.At, fact.Delivery)
		}
	case rpc.OrderEnded:
		if e := p.entries[fact.ID]; e != nil && e.alive() {
			p.close(e, fact)
		}
	case rpc.OrderReturned:
		if e := p.entries[fact.ID]; e != nil && !e.alive() {
			p.reopen(e)
		}
	case rpc.CancelNoted:
		p.note(fact)
	}
}

func (p *Pool) accept(order *rpc.Order, from uint64) {
	if order == nil || p.entries[order.ID] != nil {
		return
	}
	e := &entry{order: order, account: p.accounts[order.Signer], from: max(from, p.countsFrom(order)),
		state: rpc.Submitted}
	e.newcomer = p.isNewcomer(order.Signer)
	if e.account == nil {
		e.account = new(account)
		p.accounts[order.Signer] = e.account
	}
	e.account.kept++
	p.lastID = max(p.lastID, order.ID)
	p.entries[order.ID] = e
	p.byHash[ofOrder(order)] = append(p.byHash[ofOrder(order)], e)
	if order.Replacement != uuid.Nil {
		p.generation(keyOf(order)).replaceWith(e)
	}
	p.activate(e)
}

// activate adds an order to the indexes of live orders.
func (p *Pool) activate(e *entry) {
	p.live++
	e.account.live++
	p.countNewcomer(e, 1)
	e.cell = p.slab.allocate(e)
	p.index(e, e.from, e.order.Bundle.Window.LastBlock)
	for tx := range e.order.Bundle.Transactions() {
		p.byTx[tx.Hash] = append(p.byTx[tx.Hash], e)
	}
	if e.shared {
		p.indexShared(e)
	}
	if e.order.Follows != 0 {
		p.followers[e.order.Follows] = append(p.followers[e.order.Follows], e)
	}
}

// extend gives an order a longer window. It changes a copy, because others may be reading the old
// order.
func (p *Pool) extend(e *entry, window rpc.Window) {
	old := e.order.Bundle.Window
	order := *e.order
	order.Bundle.Window = window
	e.order = &order
	p.slab.orders[e.cell] = &order
	p.index(e, old.LastBlock+1, window.LastBlock)
	if window.FirstBlock < e.from {
		p.index(e, window.FirstBlock, e.from-1)
		e.from = window.FirstBlock
	}
}

func (p *Pool) close(e *entry, fact rpc.OrderEnded) {
	e.state = fact.State
	e.end = &ending{at: fact.At, reason: fact.Reason, block: fact.Block, blockHash: fact.BlockHash,
		valueWei: fact.ValueWei}
	p.live--
	e.account.live--
	p.countNewcomer(e, -1)
	p.slab.release(e.cell)
	p.unindex(e)
	for tx := range e.order.Bundle.Transactions() {
		unindexBy(p.byTx, tx.Hash, e)
	}
	if e.shared {
		unindexBy(p.shared, orderflow.MatchingHash(e.order.Bundle.Hash), e)
	}
	unindexBy(p.followers, e.order.Follows, e)
	p.ended = append(p.ended, endedOrder{e.order.ID, fact.Block})
	if g := p.keys[keyOf(e.order)]; g != nil && e.order.Replacement != uuid.Nil {
		g.noteEnded(e)
	}
	if e.order.Kind == rpc.KindPrivate && fact.State == rpc.Cancelled {
		p.noteWithdrawal(ofOrder(e.order), fact.Block+p.config.PrivateCancelBlocks)
	}
	p.forgetSurplus()
}

// reopen makes an ended order live again. It gets a new cell; an index that still has the old one
// treats that as dead.
func (p *Pool) reopen(e *entry) {
	e.end, e.state = nil, e.waiting()
	if g := p.keys[keyOf(e.order)]; g != nil && e.order.Replacement != uuid.Nil && g.live == nil {
		g.live = e
	}
	p.activate(e)
}
