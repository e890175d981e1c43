package backtest

import (
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Course is how the auction of a slot at a relay went, as archived. Times are microseconds since
// the start of the slot.
type Course struct {
	Slot, StartUs int64
	Relay         dataset.Text
	// AskedUs is when the proposer asked.
	AskedUs int64
	// Bids are in the order in which they entered.
	Bids  []CourseBid
	Leads []CourseLead
	// Delivered is what the archive says the relay delivered, nil if it says nothing.
	Delivered *dataset.Delivery
}

// CourseBid is a bid of an auction.
type CourseBid struct {
	Builder             [48]byte
	Block               [32]byte
	ValueWei            *uint256.Int
	ReceivedUs, EnterUs int64
}

// CourseLead is a change of the leader. ValueWei is nil if nobody leads any more.
type CourseLead struct {
	AtUs     int64
	Builder  [48]byte
	Block    [32]byte
	ValueWei *uint256.Int
}

// course describes an auction that was played.
func (l *lot) course(p *played) Course {
	c := Course{
		Slot: l.slot, StartUs: l.startUs, Relay: l.relay, AskedUs: p.asks[0].atUs, Delivered: l.delivered,
		Bids: make([]CourseBid, len(l.offers)), Leads: make([]CourseLead, len(p.leads)),
	}
	for i := range l.offers {
		o := &l.offers[i]
		c.Bids[i] = CourseBid{o.bid.Builder, o.bid.BlockHash, o.bid.ValueWei, o.receivedUs, o.enterUs}
	}
	for i, lead := range p.leads {
		c.Leads[i].AtUs = lead.atUs
		if lead.bid != nil {
			c.Leads[i] = CourseLead{lead.atUs, lead.bid.Builder, lead.bid.BlockHash, lead.bid.ValueWei}
		}
	}
	return c
}
