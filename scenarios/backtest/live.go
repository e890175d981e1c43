package backtest

import (
	"time"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Live is an auction of the archive as it is held again at a relay that runs.
type Live struct {
	Slot  int64
	Relay dataset.Text
	// Variant is the what-if under which it is held; empty as it was archived.
	Variant string
	// Bids are in the order in which they enter. Those without value or transactions are not there:
	// they have no effect (decision 3).
	Bids []LiveBid
	// Asked is when the proposer asks, since the start of the slot, and AskedBy how that was found, as
	// in Result.
	Asked   time.Duration
	AskedBy string
	// Winner leads in the replay when the proposer asks; nil if nobody does.
	Winner *relay.Bid
	// LeftOut counts the rows that rules of inference leave out, Empty those without effect, and Late
	// those after a what-if's close.
	LeftOut, Empty, Late int
}

// LiveBid is a bid, and when it enters the auction, since the start of the slot.
type LiveBid struct {
	relay.Bid

	At time.Duration
}

// Lives returns the auctions of a slot as they are held again, in the order of their relays: as
// archived, or as they would have been under a what-if, once for each moment at which its proposer
// asks.
func Lives(s Slot, how Inference, v *Variant) (all []Live) {
	for _, l := range lots(s, how) {
		p, by := l.archived(how)
		live := Live{Slot: l.slot, Relay: l.relay, AskedBy: by, LeftOut: len(l.left)}
		offers, house, asks := l.offers, asArchived, []int64{p.asks[0].atUs}
		if v != nil {
			offers, house = v.change(l.offers), v.house
			asks, live.AskedBy = v.asks(p.asks[0].atUs, by)
		}
		for i := range offers {
			switch o := &offers[i]; {
			case house.Closes && o.enterUs > house.CloseUs:
				live.Late++
			case o.empty:
				live.Empty++
			default:
				live.Bids = append(live.Bids, LiveBid{o.bid, micros(o.enterUs)})
			}
		}
		for i, s := range play(offers, house, asks).asks {
			live.Asked, live.Winner = micros(s.atUs), s.top
			if v != nil {
				live.Variant = v.nameAt(i)
			}
			all = append(all, live)
		}
	}
	return all
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// Leader is the bid that leads after these have entered in this order; nil if none does.
func Leader(bids []relay.Bid) *relay.Bid {
	var p played
	var book auction.Book
	for i := range bids {
		o := offer{bid: bids[i]}
		p.enter(&book, &o, asArchived)
	}
	return book.Top()
}
