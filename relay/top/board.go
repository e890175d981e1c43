// Package top holds what is served: for each auction the leading bid, signed and encoded once, immutable. getHeader only reads here, and
// whoever listens is told of each change.
//
//	receive ─▶ Board.Show ─┬─▶ map, replaced as a whole ◀─ Headers.Header ◀─ getHeader (no lock, no allocation)
//	                       └─▶ Feed ─▶ listeners
package top

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/defect"
	"github.com/gavel-relay/gavel/relay"
)

// Board is safe for concurrent use; its zero value is empty.
type Board struct {
	// Feed, if there is one, is told of each change in the order of the board. It must not change once the board is used.
	Feed *Feed

	// tops is replaced and never changed: a change of a top costs a signature anyway, and readers need no lock.
	tops    atomic.Pointer[map[relay.Key]*relay.SignedBid]
	writing sync.Mutex // held by whoever replaces tops, until the feed has the change too
}

// Show serves a bid from now on; nil serves none. To take down what is not shown changes nothing.
func (b *Board) Show(key relay.Key, bid *relay.SignedBid) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if bid == nil && b.Top(key) == nil {
		return
	}
	b.replace(func(tops map[relay.Key]*relay.SignedBid) {
		if bid == nil {
			delete(tops, place(key))
		} else {
			tops[place(key)] = bid
		}
	})
	if b.Feed != nil {
		b.Feed.Show(key, bid)
	}
}

// Top is the bid that is served, nil when there is none.
func (b *Board) Top(key relay.Key) *relay.SignedBid {
	tops := b.tops.Load()
	if tops == nil {
		return nil
	}
	return (*tops)[place(key)]
}

// place is where the board has an auction's bid.
func place(key relay.Key) relay.Key {
	if defect.On(defect.AnyParent) {
		key.ParentHash = phase0.Hash32{}
	}
	return key
}

// Clear forgets all auctions of slots before the given one.
func (b *Board) Clear(before phase0.Slot) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.replace(func(tops map[relay.Key]*relay.SignedBid) {
		maps.DeleteFunc(tops, func(key relay.Key, _ *relay.SignedBid) bool { return key.Slot < before })
	})
	if b.Feed != nil {
		b.Feed.Clear(before)
	}
}

// replace changes a copy of the tops and shows that. The caller holds writing.
func (b *Board) replace(change func(tops map[relay.Key]*relay.SignedBid)) {
	tops := map[relay.Key]*relay.SignedBid{}
	if shown := b.tops.Load(); shown != nil {
		tops = maps.Clone(*shown)
	}
	change(tops)
	b.tops.Store(&tops)
}
