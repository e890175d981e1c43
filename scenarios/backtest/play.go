package backtest

import (
	"cmp"
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// House is by which rules an auction is held.
type House struct {
	// Floor: bids at or below the best final one are not executed and cannot lead (decision 5).
	Floor bool
	// CloseUs is when the auction closes, in microseconds of the slot; later bids are refused.
	CloseUs int64
	// Closes says whether it does.
	Closes bool
}

// fate is what became of an offer.
type fate uint8

const (
	fateEntered fate = iota // it is in the book
	fateEmpty               // it has no value or no transactions
	fateLate                // it came after the close
	fateAtFloor             // it is at or below the floor
	fateStale               // the book has a newer one of its builder, or one of a higher number
)

// lead is a change of the leader.
type lead struct {
	atUs int64
	bid  *relay.Bid // nil: nobody leads
}

// seen is what a proposer sees that asks.
type seen struct {
	atUs        int64
	top, second *relay.Bid // second is the best of another builder
	sinceUs     int64      // since when the top leads
	floorWei    *uint256.Int
}

// played is what came of an auction.
type played struct {
	leads  []lead
	fates  []fate
	asks   []seen
	counts [fateStale + 1]int64
	// falls counts how often the leading value fell.
	falls int64
}

// play holds an auction over offers, which are in the order in which they enter, and looks at it at
// some moments, which are in order, too.
func play(offers []offer, house House, asksUs []int64) played {
	p := played{fates: make([]fate, len(offers))}
	var book auction.Book
	for i := range offers {
		o := &offers[i]
		for len(p.asks) < len(asksUs) && asksUs[len(p.asks)] < o.enterUs {
			p.ask(&book, asksUs[len(p.asks)])
		}
		p.fates[i] = p.enter(&book, o, house)
		p.counts[p.fates[i]]++
	}
	for len(p.asks) < len(asksUs) {
		p.ask(&book, asksUs[len(p.asks)])
	}
	return p
}

// enter puts an offer into the book as the relay's steps do (relay/submit: rules, floor, auction).
func (p *played) enter(book *auction.Book, o *offer, house House) fate {
	final := !o.bid.Cancellable && o.bid.Sequence == 0
	var outcome auction.Outcome
	became := fateEntered
	switch {
	case house.Closes && o.enterUs > house.CloseUs:
		return fateLate
	case o.empty:
		return fateEmpty
	case house.Floor && book.AtFloor(o.bid.ValueWei):
		if final {
			return fateAtFloor
		}
		outcome, became = book.SubmitUnverified(o.bid), fateAtFloor
	default:
		outcome = book.Submit(o.bid)
	}
	if outcome.Result == auction.Outdated {
		return fateStale
	}
	if outcome.Changed {
		p.change(o.enterUs, outcome.Top)
	}
	return became
}

func (p *played) change(atUs int64, top *relay.Bid) {
	if n := len(p.leads); n > 0 && p.leads[n-1].bid != nil && (top == nil || top.ValueWei.Lt(p.leads[n-1].bid.ValueWei)) {
		p.falls++
	}
	p.leads = append(p.leads, lead{atUs, top})
}

func (p *played) ask(book *auction.Book, atUs int64) {
	s := seen{atUs: atUs, top: book.Top(), second: book.RunnerUp(), floorWei: book.Floor()}
	if s.top != nil {
		s.sinceUs = p.leads[len(p.leads)-1].atUs
	}
	p.asks = append(p.asks, s)
}

// span is a time in which a bid led; it ends before untilUs, or not at all.
type span struct {
	fromUs, untilUs int64
	open            bool
}

// spans are the times in which a block led with a value.
func (p *played) spans(block [32]byte, valueWei *uint256.Int) (all []span) {
	for i, l := range p.leads {
		if l.bid == nil || l.bid.BlockHash != block || !l.bid.ValueWei.Eq(valueWei) {
			continue
		}
		s := span{fromUs: l.atUs, open: i == len(p.leads)-1}
		if !s.open {
			s.untilUs = p.leads[i+1].atUs
		}
		if s.open || s.untilUs > s.fromUs { // not outbid in the same microsecond
			all = append(all, s)
		}
	}
	return all
}

// nearest is the moment in a span that is nearest to another one.
func (s span) nearest(us int64) int64 {
	if us < s.fromUs {
		return s.fromUs
	}
	if !s.open && us >= s.untilUs {
		return s.untilUs - 1
	}
	return us
}

// nearest is the moment of all spans that is nearest to another one. There is one span at least.
func nearest(spans []span, us int64) int64 {
	away := func(s span) int64 { return max(s.nearest(us)-us, us-s.nearest(us)) }
	return slices.MinFunc(spans, func(a, b span) int { return cmp.Compare(away(a), away(b)) }).nearest(us)
}
