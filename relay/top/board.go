// Package top holds what is served: for each auction the leading bid, signed and encoded once, immutable. getHeader only reads here.
package top

import (
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Board is safe for concurrent use; its zero value is empty.
type Board struct {
	mu   sync.RWMutex // guards tops
	tops map[relay.Key]*relay.SignedBid
}

// Show serves a bid from now on; nil serves none.
func (b *Board) Show(key relay.Key, bid *relay.SignedBid) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bid == nil {
		delete(b.tops, key)
		return
	}
	if b.tops == nil {
		b.tops = make(map[relay.Key]*relay.SignedBid)
	}
	b.tops[key] = bid
}

// Top is the bid that is served, nil when there is none.
func (b *Board) Top(key relay.Key) *relay.SignedBid {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tops[key]
}

// Clear forgets all auctions of slots before the given one.
func (b *Board) Clear(before phase0.Slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.tops {
		if key.Slot < before {
			delete(b.tops, key)
		}
	}
}
