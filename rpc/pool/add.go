package pool

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Added is what became of an order that came.
type Added struct {
	// Order is the one that stands: what came, with its id, or an earlier one that is the same.
	Order *rpc.Order
	// Fresh: it is new, and lives.
	Fresh bool
	// Replaced are older versions that it took the place of.
	Replaced []*rpc.Order
	// Refused: nothing was taken.
	Refused *rpc.Refused
	Facts   []rpc.Fact
}

// Add takes an order, which belongs to the pool from now on. The head is the newest block.
//
// An order that is there already is not taken twice. What has a name (replacementUuid) takes the place of what its signer had under it. After a
// cancel, what comes under its name counts only for blocks after those the cancel was for; if it is for no such block it is taken as cancelled.
func (p *Pool) Add(at time.Time, head rpc.Head, order *rpc.Order) Added {
	if known := p.known(order); known != nil {
		return Added{Order: known.order}
	}
	if p.live >= p.cfg.MaxOrders {
		return Added{Refused: rpc.Overloaded.With("%d orders are pending", p.live)}
	}
	if n := p.perSigner[order.Signer]; n >= p.cfg.MaxPerSigner {
		return Added{Refused: rpc.Overloaded.With("%d orders of this signer are pending", n)}
	}
	order.ID = max(p.lastID+1, uint64(at.UnixMicro())) // greater than any of an earlier life, also of one that is forgotten
	alive := p.afterCancel(at, order)
	older := p.replaced(order)

	added := Added{Order: order, Fresh: alive, Facts: []rpc.Fact{rpc.OrderAccepted{At: at, Order: order}}}
	for _, e := range older {
		added.Replaced = append(added.Replaced, e.order)
		added.Facts = append(added.Facts, ended(at, head, e.order, rpc.Cancelled, "replaced"))
	}
	if !alive {
		added.Facts = append(added.Facts, ended(at, head, order, rpc.Cancelled, "cancelled before it came"))
	}
	p.applied(added.Facts...)
	return added
}

func ended(at time.Time, head rpc.Head, order *rpc.Order, state rpc.State, reason string) rpc.OrderEnded {
	return rpc.OrderEnded{At: at, OrderRef: order.Ref(), State: state, Reason: reason, Block: head.Number}
}

// known is a live order that says the same, and for all the blocks.
func (p *Pool) known(order *rpc.Order) *entry {
	for _, e := range p.byHash[titleOf(order)] {
		if e.end == nil && sameTerms(e.order, order) && covers(e.order, order) {
			return e
		}
	}
	return nil
}

// covers says whether an order is for all the blocks that another one, which says the same otherwise, is for. Bundles of eth_sendBundle are for one
// block each.
func covers(order, other *rpc.Order) bool {
	have, want := order.Bundle.Window, other.Bundle.Window
	if order.Kind == rpc.KindBundle {
		return have == want
	}
	return have.FirstBlock <= want.FirstBlock && have.LastBlock >= want.LastBlock
}

// sameTerms says whether two orders of a hash differ in nothing but when they came and for which blocks they are.
func sameTerms(a, b *rpc.Order) bool {
	if a.Signer != b.Signer || a.Kind != b.Kind || a.Replacement != b.Replacement || a.AllBuilders != b.AllBuilders || !slices.Equal(a.Builders, b.Builders) {
		return false
	}
	one, other := a.Bundle, b.Bundle
	if a.Kind != rpc.KindBundle { // else covers compares them
		one.Window, other.Window = rpc.Window{}, rpc.Window{}
	}
	return reflect.DeepEqual(one, other)
}

// replaced are the live orders that an order takes the place of: of its name, or, without one, those that say the same for fewer blocks.
func (p *Pool) replaced(order *rpc.Order) []*entry {
	if order.Replacement != uuid.Nil {
		if e := p.byName[nameOf(order)]; e != nil {
			return []*entry{e}
		}
		return nil
	}
	var list []*entry
	for _, e := range p.byHash[titleOf(order)] {
		if e.end == nil && order.Kind != rpc.KindBundle && sameTerms(e.order, order) {
			list = append(list, e)
		}
	}
	return list
}

// afterCancel narrows an order to the blocks that a cancel of its name leaves, and says whether there are any.
func (p *Pool) afterCancel(at time.Time, order *rpc.Order) bool {
	n := nameOf(order)
	c, noted := p.cancels[n]
	if n.uuid == uuid.Nil || !noted {
		return true
	}
	w := &order.Bundle.Window
	if at.Sub(c.at) > p.cfg.RememberCancels || w.FirstBlock > c.block {
		return true
	}
	if w.LastBlock <= c.block {
		return false
	}
	w.FirstBlock = c.block + 1
	return true
}
