package top

import (
	"sync"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// Served records headers that were served: the first answer with each bid at once, before the
// proposer has it, and the others as a sum. It never blocks.
type Served interface {
	RecordHeader(served relay.HeaderServed)
}

// shown is a bid that leads, with how often it was served. Repeated requests for it only increase a
// counter.
type shown struct {
	bid *relay.SignedBid

	mu     sync.Mutex // guards what follows
	served bool       // it was served at least once
	gone   bool       // it leads no longer, so the sum will not be fetched again
	again  relay.HeaderServed
}

// serve notes that a signed bid is the answer to a proposer's request.
func (b *Bids) serve(top *shown, key relay.Key, bid *relay.SignedBid, at time.Time) {
	served := relay.HeaderServed{
		At: at, Slot: key.Slot, Proposer: key.Proposer, BlockHash: bid.BlockHash, Builder: bid.Builder,
		ValueWei:     bid.ValueWei,
		FeeRecipient: bid.Trace.FeeRecipient,
	}
	atOnce, first := top.serve(served)
	if first {
		b.NoteServed(served)
	}
	if atOnce {
		b.record(served)
	}
}

// serve counts an answer. atOnce says that the answer must be recorded at once instead; first says
// that it is the first answer with this bid.
func (s *shown) serve(served relay.HeaderServed) (atOnce, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.served || s.gone {
		first, s.served = !s.served, true
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

// RecordRepeats records how often bids were served again since the last call. It is called at the
// end of a slot, so that the sums of bids that still lead are not held back.
func (b *Bids) RecordRepeats() {
	tops := b.tops.Load()
	if tops == nil {
		return
	}
	for _, top := range *tops {
		b.fetch(top, false)
	}
}

// retire records the sum of a bid that leads no longer. Requests that read the bid before that, and
// are answered after it, are recorded one by one.
func (b *Bids) retire(top *shown) {
	if top != nil {
		b.fetch(top, true)
	}
}

// fetch records how often a bid was served again, if it was.
func (b *Bids) fetch(top *shown, gone bool) {
	top.mu.Lock()
	again := top.again
	top.again = relay.HeaderServed{}
	top.gone = top.gone || gone
	top.mu.Unlock()
	if again.Times > 0 {
		b.record(again)
	}
}

func (b *Bids) record(served relay.HeaderServed) {
	if b.Served != nil {
		b.Served.RecordHeader(served)
	}
}
