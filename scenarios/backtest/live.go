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
	// Bids are in the order in which they enter. Those without value or transactions are not there:
	// they have no effect (decision 3).
	Bids []LiveBid
	// Asked is when the proposer asks, since the start of the slot, and AskedBy how that was found, as
	// in Result.
	Asked   time.Duration
	AskedBy string
	// LeftOut counts the rows that rules of inference leave out, and Empty those without effect.
	LeftOut, Empty int
}

// LiveBid is a bid, and when it enters the auction, since the start of the slot.
type LiveBid struct {
	relay.Bid

	At time.Duration
}

// Lives returns the auctions of a slot as they are held again, in the order of their relays.
func Lives(s Slot, how Inference) (all []Live) {
	for _, l := range lots(s, how) {
		p, by := l.archived(how)
		live := Live{Slot: l.slot, Relay: l.relay, Asked: micros(p.asks[0].atUs), AskedBy: by, LeftOut: len(l.left)}
		for i := range l.offers {
			o := &l.offers[i]
			if o.empty {
				live.Empty++
				continue
			}
			live.Bids = append(live.Bids, LiveBid{o.bid, micros(o.enterUs)})
		}
		all = append(all, live)
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
