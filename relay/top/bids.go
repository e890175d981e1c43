// Package top holds what is served: for each auction the top bid, signed and encoded once,
// immutable. getHeader only reads it, and listeners are sent each change.
//
//	submit ─▶ Bids.Show ─┬─▶ map, replaced as a whole ◀─ Headers.Header ◀─ getHeader (no lock but the bid's own, no allocation)
//	                     │                                     └─ each bid's first answer at once, the others as a sum ─▶ Served
//	                     └─▶ Broadcast ─▶ listeners
package top

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Bids holds the top bid of each auction. It is safe for concurrent use; its zero value is empty.
type Bids struct {
	// Broadcast, if set, gets the changes in the order in which they were shown. It must be set before
	// Bids is used.
	Broadcast *Broadcast
	// Served, if set, records the headers that were served. It must be set before Bids is used.
	Served Served

	// tops is replaced and never changed, so that readers need no lock. The copy is cheap compared
	// with the signature that each new top costs.
	tops    atomic.Pointer[map[relay.Key]*shown]
	writing sync.Mutex // held while tops is replaced, until the broadcast has the change too

	serving sync.Mutex // guards given
	served  map[phase0.Slot][]relay.HeaderServed
}

// Show serves a bid from now on; nil serves none. nil has no effect if no bid is served.
func (b *Bids) Show(key relay.Key, bid *relay.SignedBid) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if bid == nil && b.Top(key) == nil {
		return
	}
	before := b.top(key)
	b.replace(func(tops map[relay.Key]*shown) {
		if bid == nil {
			delete(tops, key)
		} else {
			tops[key] = &shown{bid: bid}
		}
	})
	b.retire(before)
	if b.Broadcast != nil {
		b.Broadcast.Show(key, bid)
	}
}

// Top returns the bid that is served; nil if there is none.
func (b *Bids) Top(key relay.Key) *relay.SignedBid {
	if top := b.top(key); top != nil {
		return top.bid
	}
	return nil
}

func (b *Bids) top(key relay.Key) *shown {
	tops := b.tops.Load()
	if tops == nil {
		return nil
	}
	return (*tops)[key]
}

// NoteServed notes that a bid is the answer to a proposer for the first time since it leads. At
// start it is called for the answers of earlier runs too.
func (b *Bids) NoteServed(served relay.HeaderServed) {
	b.serving.Lock()
	defer b.serving.Unlock()
	if b.served == nil {
		b.served = map[phase0.Slot][]relay.HeaderServed{}
	}
	b.served[served.Slot] = append(b.served[served.Slot], served)
}

// LastServed returns the header that a proposer was last given for a block of a slot. If the
// proposer signs that block, it signed for this bid. It is nil if none was noted.
func (b *Bids) LastServed(slot phase0.Slot, block phase0.Hash32) *relay.HeaderServed {
	b.serving.Lock()
	defer b.serving.Unlock()
	for _, served := range slices.Backward(b.served[slot]) {
		if served.BlockHash == block {
			return &served
		}
	}
	return nil
}

// Clear forgets all auctions of slots before the given one.
func (b *Bids) Clear(before phase0.Slot) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.replace(func(tops map[relay.Key]*shown) {
		maps.DeleteFunc(tops, func(key relay.Key, top *shown) bool {
			if key.Slot >= before {
				return false
			}
			b.retire(top)
			return true
		})
	})
	b.serving.Lock()
	maps.DeleteFunc(b.served, func(slot phase0.Slot, _ []relay.HeaderServed) bool { return slot < before })
	b.serving.Unlock()
	if b.Broadcast != nil {
		b.Broadcast.Clear(before)
	}
}

// replace changes a copy of the tops and stores it. The caller holds writing.
func (b *Bids) replace(change func(tops map[relay.Key]*shown)) {
	tops := map[relay.Key]*shown{}
	if before := b.tops.Load(); before != nil {
		tops = maps.Clone(*before)
	}
	change(tops)
	b.tops.Store(&tops)
}
