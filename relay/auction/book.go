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
	place  int // in the ranking; -1 if it is not there
}

// standing is what one builder has in the book.
type standing struct {
	final   []*entry // all final bids, in order of arrival
	best    *entry   // the best of them that counts; nil if there is none
	current *entry   // the newest cancellable or sequenced bid; nil if there is none
}

// Book holds the bids of one auction. The zero value is an empty book. It is not safe for
// concurrent use; its owner guards it.
type Book struct {
	builders map[phase0.BLSPubKey]*standing
	order    uint64
	ranked   ranking // of each builder the best final bid and the current one
	floor    *entry  // the best final bid; nil if there is none
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
	placed := &entry{bid: bid, order: b.order, counts: counts}
	if isFinal(bid) {
		own.final = append(own.final, placed)
		b.rankFinal(own, placed)
	} else {
		b.ranked.leave(own.current)
		own.current = placed
		b.ranked.enter(placed)
	}
	changed := b.elect()
	result := Follows
	if b.top == placed {
		result = Leads
	}
	return Outcome{Result: result, Top: b.topBid(), Changed: changed}
}

// Withdraw removes bids of one builder, as when it is demoted: those that match, or all if match is
// nil.
func (b *Book) Withdraw(builder phase0.BLSPubKey, match func(relay.Bid) bool) Outcome {
	if own := b.builders[builder]; own != nil {
		b.exclude(own, match)
	}
	return b.findLeaders()
}

// Exclude removes the matching bids of all builders, as when the proposer has registered again.
func (b *Book) Exclude(match func(relay.Bid) bool) Outcome {
	for _, own := range b.builders {
		b.exclude(own, match)
	}
	return b.findLeaders()
}

func (b *Book) exclude(own *standing, match func(relay.Bid) bool) {
	own.final = slices.DeleteFunc(own.final, func(e *entry) bool { return match == nil || match(e.bid) })
	b.ranked.leave(own.best)
	own.best = nil
	for _, e := range own.final {
		b.rankFinal(own, e)
	}
	if own.current != nil && (match == nil || match(own.current.bid)) {
		b.ranked.leave(own.current)
		own.current = nil
	}
}

// findLeaders finds floor and leader after bids have left.
func (b *Book) findLeaders() Outcome {
	b.floor = nil
	for _, own := range b.builders {
		b.raiseFloor(own.best)
	}
	changed := b.elect()
	return Outcome{Result: Follows, Top: b.topBid(), Changed: changed}
}

// rankFinal ranks a final bid if it is its builder's best one. The others wait in own.final until
// the best is withdrawn.
func (b *Book) rankFinal(own *standing, e *entry) {
	if !e.counts || own.best != nil && !e.bid.ValueWei.Gt(own.best.bid.ValueWei) {
		return
	}
	b.ranked.leave(own.best)
	own.best = e
	b.ranked.enter(e)
	b.raiseFloor(e)
}

// raiseFloor makes a builder's best final bid the floor if it is the best of all builders'.
func (b *Book) raiseFloor(e *entry) {
	if e != nil && (b.floor == nil || e.bid.ValueWei.Gt(b.floor.bid.ValueWei)) {
		b.floor = e
	}
}

// Top returns the leading bid, nil if there is none. It must not be changed.
func (b *Book) Top() *relay.Bid { return b.topBid() }

// Ranked returns the bids that may lead, the leader first: of each builder its best final one and
// the one that can still be replaced. They must not be changed.
func (b *Book) Ranked() []relay.Bid {
	entries := slices.Clone(b.ranked)
	slices.SortFunc(entries, func(e, other *entry) int {
		if e.leads(other) {
			return -1
		}
		return 1
	})
	bids := make([]relay.Bid, len(entries))
	for i, e := range entries {
		bids[i] = e.bid
	}
	return bids
}

// RunnerUp returns the best bid of another builder than the leader, nil if there is none. It must
// not be changed.
func (b *Book) RunnerUp() *relay.Bid {
	var second *entry
	for _, e := range b.ranked {
		if e.bid.Builder != b.top.bid.Builder && (second == nil || e.leads(second)) {
			second = e
		}
	}
	if second == nil {
		return nil
	}
	return &second.bid
}

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
	if b.floor == nil {
		return new(uint256.Int)
	}
	return b.floor.bid.ValueWei.Clone()
}

// AtFloor says whether a bid of this value is at or below the floor, and so cannot lead while the
// slot runs. Without a floor no bid is.
func (b *Book) AtFloor(valueWei *uint256.Int) bool {
	return b.floor != nil && !b.floor.bid.ValueWei.IsZero() && !valueWei.Gt(b.floor.bid.ValueWei)
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

// elect makes the first of the ranking the leader and says whether it is another one than before.
func (b *Book) elect() bool {
	before := b.top
	b.top = b.ranked.first()
	return b.top != before
}

func (b *Book) topBid() *relay.Bid {
	if b.top == nil {
		return nil
	}
	return &b.top.bid
}
