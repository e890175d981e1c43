package top

import (
	"sync"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// Served is told of headers that were served: of each bid's first answer at once, before the
// proposer has it, and of the others as a sum. It never blocks.
type Served interface {
	RecordHeader(served relay.HeaderServed)
}

// shown is a bid that leads, with how often it was served. Whoever asks for it again and again
// makes one number grow, and nothing else.
type shown struct {
	bid *relay.SignedBid

	mu    sync.Mutex // guards what follows
	given bool       // somebody was answered with it
	gone  bool       // it leads no longer: nobody will fetch the sum
	again relay.HeaderServed
}

// serve notes that a proposer is answered with a bid, whose header is signed.
func (b *Bids) serve(top *shown, key relay.Key, bid *relay.SignedBid, at time.Time) {
	served := relay.HeaderServed{
		At: at, Slot: key.Slot, Proposer: key.Proposer, BlockHash: bid.BlockHash, Builder: bid.Builder,
		ValueWei:     bid.ValueWei,
		FeeRecipient: bid.Trace.FeeRecipient,
	}
	told, first := top.serve(served)
	if first {
		b.Give(served)
	}
	if told {
		b.tell(served)
	}
}

// serve counts an answer, or says that it is to be told at once.
func (s *shown) serve(served relay.HeaderServed) (told, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.given || s.gone {
		first, s.given = !s.given, true
		return true, first
	}
	if s.again.Times == 0 {
		s.again = served
	}
	s.again.Times++
	if served.At.After(s.again.Until) {
		s.again.Until = served.At
	}
	return false, false
}

// TellRepeats tells what was served again since the last time. It is for the end of a slot, so that
// nobody waits longer for what can still be asked for.
func (b *Bids) TellRepeats() {
	tops := b.tops.Load()
	if tops == nil {
		return
	}
	for _, top := range *tops {
		b.fetch(top, false)
	}
}

// retire tells the rest of a bid that leads no longer. Requests that found it before are told one
// by one.
func (b *Bids) retire(top *shown) {
	if top != nil {
		b.fetch(top, true)
	}
}

// fetch tells how often a bid was served again, if it was.
func (b *Bids) fetch(top *shown, gone bool) {
	top.mu.Lock()
	again := top.again
	top.again = relay.HeaderServed{}
	top.gone = top.gone || gone
	top.mu.Unlock()
	if again.Times > 0 {
		b.tell(again)
	}
}

func (b *Bids) tell(served relay.HeaderServed) {
	if b.Served != nil {
		b.Served.RecordHeader(served)
	}
}
