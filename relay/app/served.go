package app

import (
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/top"
)

// shown is the leading bids, with what keeps the payloads of leading bids in memory.
type shown struct {
	topBid *top.Bids
	served *slots.Payloads
}

// Show implements submit.Board. The payload is held before the bid can be read.
func (s shown) Show(key relay.Key, bid *relay.SignedBid) {
	if bid != nil {
		s.served.Show(key, bid.BlockHash, bid.Builder)
	}
	s.topBid.Show(key, bid)
}

// handedOut is told of served headers: it has their payloads kept in memory, and records them.
type handedOut struct {
	record *facts
	served *slots.Payloads
}

// RecordHeader implements top.Served.
func (h handedOut) RecordHeader(served relay.HeaderServed) {
	h.served.Header(relay.PayloadID{Slot: served.Slot, BlockHash: served.BlockHash, Builder: served.Builder})
	h.record.Record(served)
}
