package auction

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// Result says what a submission did to the book.
type Result uint8

// The results.
const (
	Leads    Result = iota + 1 // the bid is the top now
	Follows                    // the bid is in the book, and another one leads
	Outdated                   // a newer or higher-numbered bid of the same builder is in the book; nothing changed
)

// Outcome is the state of the book after one call. Top is the leading bid, nil if there is none; it
// must not be changed.
type Outcome struct {
	Result  Result
	Top     *relay.Bid
	Changed bool // Top is another bid than before
}

// entry is a bid in the book; order is its place in the order of arrival, which settles ties.
type entry struct {
	bid   relay.Bid
	order uint64
	// counts is false for a bid from SubmitUnverified: it replaces an earlier bid, but never leads.
	counts bool
}

// standing is what one builder has in the book.
type standing struct {
	final   []entry // all final bids, in order of arrival
	current *entry  // the newest cancellable or sequenced bid; nil if there is none
}

// Book holds the bids of one auction. The zero value is an empty book. It is not safe for
// concurrent use; its owner guards it.
type Book struct {
	builders map[phase0.BLSPubKey]*standing
	order    uint64
	top      *entry
}

// Submit puts a verified bid into the book.
func (b *Book) Submit(bid relay.Bid) Outcome { return b.put(bid, true) }

// SubmitUnverified puts a bid into the book that must not lead: it only replaces the same builder's
// earlier bid. It is for cancellable bids at or below the floor, which are not executed because
// they cannot lead (decision 5).
func (b *Book) SubmitUnverified(bid relay.Bid) Outcome { return b.put(bid, false) }

func (b *Book) put(bid relay.Bid, counts bool) Outcome {
	own := b.standing(bid.Builder)
	if !replaces(own.current, bid) {
		return Outcome{Result: Outdated, Top: b.topBid()}
	}
	b.order++
	placed := entry{bid: bid, order: b.order, counts: counts}
	if isFinal(bid) {
		own.final = append(own.final, placed)
	} else {
		own.current = &placed
	}
	changed := b.elect()
	result := Follows
	if b.top != nil && b.top.order == placed.order {
		result = Leads
	}
	return Outcome{Result: result, Top: b.topBid(), Changed: changed}
}

// Withdraw removes bids of one builder, as when it is demoted: those that match, or all if match is
// nil.
func (b *Book) Withdraw(builder phase0.BLSPubKey, match func(relay.Bid) bool) Outcome {
	own := b.builders[builder]
	switch {
	case own == nil:
	case match == nil:
		delete(b.builders, builder)
	default:
		own.exclude(match)
	}
	changed := b.elect()
	return Outcome{Result: Follows, Top: b.topBid(), Changed: changed}
}

// Exclude removes the matching bids of all builders, as when the proposer has registered again.
func (b *Book) Exclude(match func(relay.Bid) bool) Outcome {
	for _, own := range b.builders {
		own.exclude(match)
	}
	changed := b.elect()
	return Outcome{Result: Follows, Top: b.topBid(), Changed: changed}
}

func (s *standing) exclude(match func(relay.Bid) bool) {
	s.final = slices.DeleteFunc(s.final, func(e entry) bool { return match(e.bid) })
	if s.current != nil && match(s.current.bid) {
		s.current = nil
	}
}

// Top returns the leading bid, nil if there is none. It must not be changed.
func (b *Book) Top() *relay.Bid { return b.topBid() }

// Current returns a builder's bid that can still be replaced, nil if it has none. It must not be
// changed.
func (b *Book) Current(builder phase0.BLSPubKey) *relay.Bid {
	if own := b.builders[builder]; own != nil && own.current != nil {
		return &own.current.bid
	}
	return nil
}

// Floor returns the value in wei of the best final bid; zero if there is none. No bid below it can
// lead while the slot runs.
func (b *Book) Floor() *uint256.Int {
	floor := new(uint256.Int)
	for _, own := range b.builders {
		for _, e := range own.final {
			if e.counts && e.bid.ValueWei.Gt(floor) {
				floor.Set(e.bid.ValueWei)
			}
		}
	}
	return floor
}

func (b *Book) standing(builder phase0.BLSPubKey) *standing {
	if b.builders == nil {
		b.builders = make(map[phase0.BLSPubKey]*standing)
	}
	own := b.builders[builder]
	if own == nil {
		own = new(standing)
		b.builders[builder] = own
	}
	return own
}

func isFinal(bid relay.Bid) bool { return !bid.Cancellable && bid.Sequence == 0 }

// replaces says whether a bid may enter the book. A final bid always may, beside the current one.
// Another takes the place of the current one, so it must be newer or have a higher number.
func replaces(current *entry, bid relay.Bid) bool {
	switch {
	case current == nil || isFinal(bid):
		return true
	case current.bid.Sequence > 0 || bid.Sequence > 0:
		return bid.Sequence > current.bid.Sequence
	default:
		return !bid.ReceivedAt.Before(current.bid.ReceivedAt)
	}
}

// elect finds the leader among all bids in the book and says whether it has changed.
func (b *Book) elect() bool {
	var best *entry
	consider := func(e *entry) {
		if !e.counts || e.bid.ValueWei.IsZero() {
			return
		}
		if best == nil || e.bid.ValueWei.Gt(best.bid.ValueWei) || (e.bid.ValueWei.Eq(best.bid.ValueWei) &&
			e.order < best.order) {
			best = e
		}
	}
	for _, own := range b.builders {
		for i := range own.final {
			consider(&own.final[i])
		}
		if own.current != nil {
			consider(own.current)
		}
	}
	changed := (best == nil) != (b.top == nil) || (best != nil && best.order != b.top.order)
	if best == nil {
		b.top = nil
		return changed
	}
	leader := *best // a copy, since the slice of the entry may grow and move
	b.top = &leader
	return changed
}

func (b *Book) topBid() *relay.Bid {
	if b.top == nil {
		return nil
	}
	return &b.top.bid
}
