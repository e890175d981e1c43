package app

import (
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/top"
)

// shown serves top bids and keeps their payloads in memory.
type shown struct {
	topBid *top.Bids
	served *slots.Payloads
}

// Show implements submit.TopBids. It keeps the payload before the bid can be served.
func (s shown) Show(key relay.Key, bid *relay.SignedBid) {
	if bid != nil {
		s.served.Show(key, bid.BlockHash, bid.Builder)
	}
	s.topBid.Show(key, bid)
}

// handedOut keeps the payloads of served headers in memory, and records the headers.
type handedOut struct {
	record *facts
	served *slots.Payloads
}

// RecordHeader implements top.Served.
func (h handedOut) RecordHeader(served relay.HeaderServed) {
	h.served.Header(relay.PayloadID{Slot: served.Slot, BlockHash: served.BlockHash, Builder: served.Builder})
	h.record.Record(served)
}
