package pool

import (
	"bytes"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Result says how the pool handled an order that came.
type Result uint8

// The results.
const (
	Accepted  Result = iota + 1 // it is in the pool
	Known                       // the same order of the same signer is there already; nothing changed
	Extended                    // it is there already, and now has the longer window
	Successor                   // it is in the pool in place of an older version
)

// Outcome is what became of an order that came.
type Outcome struct {
	Result Result
	// Order is the pool's order: the one that came, with its ID, or the one that was there.
	Order *rpc.Order
	// Replaced is the older version, which has ended. Builders that have it must learn of that.
	Replaced *rpc.Order
	Facts    []rpc.Fact
}

// Add adds an order, which belongs to the pool from then on, and assigns its ID. head is the newest
// block. It refuses with rpc.InvalidInclusion if no block of the window lies ahead or the window
// reaches beyond horizon, with rpc.BackrunNotFound if the order that it follows is not alive, with
// rpc.BackrunInvalidInclusion if that one counts only for later blocks, with rpc.OrderCancelled if
// its signer cancelled it before it came, and with rpc.Overloaded or rpc.RateLimited if the pool is
// full, for all or for one signer.
func (p *Pool) Add(at time.Time, head rpc.Head, order *rpc.Order) (Outcome, error) {
	if same := p.sameOrder(order); same != nil {
		return p.answerRepeated(at, same, order.Bundle.Window), nil
	}
	if err := p.check(at, head, order); err != nil {
		return Outcome{}, err
	}
	older := p.liveVersion(order)
	if err := p.checkRoom(order, older != nil); err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Result: Accepted, Order: order}
	if older != nil {
		outcome.Result, outcome.Replaced = Successor, older.order
		outcome.Facts = p.end(at, older, rpc.Cancelled, rpc.ReplacedByVersion)
	}
	order.ID = p.lastID + 1
	outcome.Facts = append(outcome.Facts, p.applyAll(p.accepted(at, order))...)
	return outcome, nil
}

func (p *Pool) accepted(at time.Time, order *rpc.Order) rpc.OrderAccepted {
	fact := rpc.OrderAccepted{At: at, Order: order}
	if from := p.countsFrom(order); from > order.Bundle.Window.FirstBlock {
		fact.From = from
	}
	return fact
}

// CountFrom makes the IDs of orders that are accepted later greater than a number, and than all
// known ones.
func (p *Pool) CountFrom(number uint64) { p.lastID = max(p.lastID, number) }

// liveVersion is the live version that an order replaces, nil for none.
func (p *Pool) liveVersion(order *rpc.Order) *entry {
	if g := p.keys[keyOf(order)]; g != nil && order.Replacement != uuid.Nil {
		return g.live
	}
	return nil
}

func (p *Pool) check(at time.Time, head rpc.Head, order *rpc.Order) error {
	window := order.Bundle.Window
	if window.LastBlock < window.FirstBlock {
		return rpc.InvalidInclusion.With("the last block, %d, is before the first, %d", window.LastBlock, window.FirstBlock)
	}
	if window.LastBlock <= head.Number {
		return rpc.InvalidInclusion.With("block %d is over, the newest one is %d", window.LastBlock, head.Number)
	}
	if window.LastBlock > head.Number+horizon {
		return rpc.InvalidInclusion.With("block %d is too far from the newest one, %d", window.LastBlock, head.Number)
	}
	if err := p.checkLeader(order); err != nil {
		return err
	}
	if order.Kind == rpc.KindPrivate && head.Number < p.withdrawn[ofOrder(order)] && !p.config.ReviveAfterCancel {
		return rpc.OrderCancelled.With("private transaction %s", order.Hash())
	}
	if order.Replacement == uuid.Nil {
		return nil
	}
	if g := p.keys[keyOf(order)]; g != nil && at.Before(g.closed) {
		return rpc.OrderCancelled.With("replacementUuid %s", order.Replacement)
	}
	if first := p.firstBlock(order); first > window.LastBlock {
		return rpc.OrderCancelled.With("replacementUuid %s counts from block %d on", order.Replacement, first)
	}
	return nil
}

func (p *Pool) checkRoom(order *rpc.Order, replaces bool) error {
	if replaces {
		return nil
	}
	if p.live >= p.config.MaxOrders {
		return rpc.Overloaded.Plain()
	}
	if err := p.checkNewcomerRoom(order); err != nil {
		return err
	}
	if account := p.accounts[order.Signer]; account != nil && account.live >= p.config.MaxPerSigner {
		return rpc.RateLimited.With("%d orders of this signer wait for their blocks", account.live)
	}
	return nil
}

// lookBack is among how many orders of one signer and hash a repeated order is searched.
const lookBack = 64

// sameOrder finds the order that this one repeats, if that is alive or landed.
func (p *Pool) sameOrder(order *rpc.Order) *entry {
	kept := p.byHash[ofOrder(order)]
	for i := len(kept) - 1; i >= max(0, len(kept)-lookBack); i-- {
		e := kept[i]
		if (e.alive() || e.state == rpc.Landed) && windowsJoin(e.order, order) && sameTerms(e.order, order) {
			return e
		}
	}
	return nil
}

// answerRepeated answers a repeated order. If its window continues the old one, the order gets a
// window that spans both. A landed order does not need that.
func (p *Pool) answerRepeated(at time.Time, e *entry, window rpc.Window) Outcome {
	old := e.order.Bundle.Window
	joined := old
	joined.FirstBlock, joined.LastBlock = min(old.FirstBlock, window.FirstBlock), max(old.LastBlock, window.LastBlock)
	if joined == old || !e.alive() {
		return Outcome{Result: Known, Order: e.order}
	}
	facts := p.applyAll(rpc.OrderExtended{At: at, OrderRef: e.order.Ref(), Window: joined})
	return Outcome{Result: Extended, Order: e.order, Facts: facts}
}

// windowsJoin says whether the windows of two orders form one without a gap. With a replacementUuid
// an order with another window is a new version, so only equal windows join.
func windowsJoin(a, b *rpc.Order) bool {
	v, w := a.Bundle.Window, b.Bundle.Window
	if a.Replacement != uuid.Nil {
		return v == w
	}
	return v.MinTimestamp == w.MinTimestamp && v.MaxTimestamp == w.MaxTimestamp && w.FirstBlock <= v.LastBlock+1 &&
		v.FirstBlock <= w.LastBlock+1
}

// sameTerms says whether two orders ask for the same, apart from their windows. Equal hashes do not
// imply that: a hash does not cover terms and flags.
func sameTerms(a, b *rpc.Order) bool {
	x, y := *a, *b
	x.ID, x.Source, x.ReceivedAt, x.Bundle = 0, "", time.Time{}, rpc.Bundle{}
	y.ID, y.Source, y.ReceivedAt, y.Bundle = 0, "", time.Time{}, rpc.Bundle{}
	return a.Signer == b.Signer && reflect.DeepEqual(x, y) && sameBundle(a.Bundle, b.Bundle, false)
}

func sameBundle(a, b rpc.Bundle, windows bool) bool {
	if windows && a.Window != b.Window || len(a.Elements) != len(b.Elements) {
		return false
	}
	for i := range a.Elements {
		if !sameElement(a.Elements[i], b.Elements[i]) {
			return false
		}
	}
	a.Elements, a.Window, b.Elements, b.Window = nil, rpc.Window{}, nil, rpc.Window{}
	return reflect.DeepEqual(a, b)
}

func sameElement(a, b rpc.Element) bool {
	switch {
	case a.Tx != nil && b.Tx != nil:
		return a.Tx.Hash == b.Tx.Hash && a.Tx.CanRevert == b.Tx.CanRevert && a.Tx.CanDrop == b.Tx.CanDrop &&
			bytes.Equal(a.Tx.Raw, b.Tx.Raw)
	case a.Match != nil && b.Match != nil:
		return *a.Match == *b.Match
	case a.Bundle != nil && b.Bundle != nil:
		return sameBundle(*a.Bundle, *b.Bundle, true)
	}
	return false
}
