package app

import (
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/top"
)

// topWithPayload serves top bids and keeps their payloads in memory.
type topWithPayload struct {
	topBid *top.Bids
	served *slots.Payloads
}

// Show implements submit.TopBids. It keeps the payload before the bid can be served.
func (s topWithPayload) Show(key relay.Key, bid *relay.SignedBid) {
	if bid != nil {
		s.served.Show(key, bid.BlockHash, bid.Builder)
	}
	s.topBid.Show(key, bid)
}

// servedHeaders keeps the payloads of served headers in memory, and records the headers.
type servedHeaders struct {
	record *facts
	served *slots.Payloads
}

// RecordHeader implements top.Served.
func (h servedHeaders) RecordHeader(served relay.HeaderServed) {
	h.served.Header(relay.PayloadID{Slot: served.Slot, BlockHash: served.BlockHash, Builder: served.Builder})
	h.record.Record(served)
}
