package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holiman/uint256"
)

// Fault is a kind of wrong answer.
type Fault string

// The faults.
const (
	// WrongBest is a header below a bid that the relay had accepted before the header was asked for.
	WrongBest Fault = "wrong best bid"
	// StaleHeader is a header of another slot or parent, or one below what the same client has seen.
	StaleHeader Fault = "stale header"
	// LostPayload is a payload that was not delivered for a header that was served and signed.
	LostPayload Fault = "lost payload"

	// WrongHash is an answer of a bundle RPC with another hash than the order's.
	WrongHash Fault = "wrong hash"
	// LostOrder is a bundle that was accepted, and of which the RPC then knows nothing.
	LostOrder Fault = "lost order"

	// LostEvent is an order that was accepted, and of which a listener that was there all the time has
	// got no event. DoubledEvent is one of which it has got two.
	LostEvent    Fault = "lost event"
	DoubledEvent Fault = "doubled event"
)

// Faults are those of a relay, in the order of a report.
var Faults = []Fault{WrongBest, StaleHeader, LostPayload}

// Bid is a submission to an auction.
type Bid struct {
	Builder string
	Block   [32]byte
	Value   uint256.Int
	// Sent and Done are when the request began and when its answer was there. Done is 0 if none came.
	Sent, Done time.Duration
	// Refused says that the answer was a refusal, so that the bid cannot count.
	Refused bool
	// Cancels says that the bid takes the place of its builder's earlier ones, even of a higher one.
	Cancels bool
}

// Served is an answer to a request for a header.
type Served struct {
	Client     int
	Sent, Done time.Duration
	// Empty means that the relay said that it has no bid.
	Empty bool
	// Unreadable is why nobody can read the header; empty if one can.
	Unreadable    string
	Block, Parent [32]byte
	Value         uint256.Int
}

// Delivery is an answer to the proposer's signed block.
type Delivery struct {
	Sent, Done time.Duration
	Block      [32]byte
	// Wrong is why the answer is not the header's payload; empty if it is.
	Wrong string
}

// Auction is what happened in the auction of one slot.
type Auction struct {
	Slot   uint64
	Parent [32]byte
	// Ends is when the slot begins. A relay may stop to serve headers from then on.
	Ends       time.Duration
	Bids       []Bid
	Served     []Served
	Deliveries []Delivery
}

// Found is how often a fault was looked for and found.
type Found struct {
	Fault   Fault `json:"fault"`
	Checked int   `json:"checked"`
	Found   int   `json:"found"`
	// Example says when and how it was found first.
	Example string `json:"example,omitempty"`
}

// standing is a bid that was not refused, with what can end it.
type standing struct {
	*Bid

	// until is when the first request began that may have replaced the bid.
	until time.Duration
}

// never is a time that does not come.
const never = time.Duration(math.MaxInt64)

// Check returns which answers of an auction are wrong: for each of Faults how often.
//
// Only what is certain counts. Requests overlap, so a bid counts for a header only if its answer
// was there before the header's request began, and no request of its builder may have cancelled it
// before the header's answer was there.
func (a *Auction) Check() []Found {
	found := []Found{{Fault: WrongBest}, {Fault: StaleHeader}, {Fault: LostPayload}}
	stand := a.standings()
	floors := newFloors(stand)
	byBlock := map[[32]byte][]standing{}
	for _, s := range stand {
		byBlock[s.Block] = append(byBlock[s.Block], s)
	}
	slices.SortStableFunc(a.Served, func(x, y Served) int { return cmp.Compare(x.Sent, y.Sent) })
	seen := map[int][]*Served{} // answers that may still be the best that a client has seen
	for i := range a.Served {
		h := &a.Served[i]
		best := floors.at(h)
		found[0].Judge(a.wrongBest(h, best, byBlock[h.Block]))
		found[1].Judge(a.stale(h, seen[h.Client], byBlock))
		seen[h.Client] = remember(seen[h.Client], h, byBlock)
	}
	for _, d := range a.Deliveries {
		what := ""
		if d.Wrong != "" {
			what = fmt.Sprintf("slot %d: the payload of %#x was signed for at %s: %s", a.Slot, d.Block[:8], moment(d.Sent),
				d.Wrong)
		}
		found[2].Judge(what)
	}
	return found
}

// Judge counts a check, and a fault if there are words for it.
func (f *Found) Judge(what string) {
	f.Checked++
	if what == "" {
		return
	}
	if f.Found++; f.Example == "" {
		f.Example = what
	}
}

// Add adds what was found in another auction.
func Add(sum, more []Found) []Found {
	if sum == nil {
		return slices.Clone(more)
	}
	for i := range sum {
		sum[i].Checked += more[i].Checked
		sum[i].Found += more[i].Found
		sum[i].Example = cmp.Or(sum[i].Example, more[i].Example)
	}
	return sum
}

// standings returns the bids that may count, each with the time from which on it may be gone.
func (a *Auction) standings() (list []standing) {
	cancels := map[string][]*Bid{}
	for i := range a.Bids {
		if b := &a.Bids[i]; b.Cancels && !b.Refused {
			cancels[b.Builder] = append(cancels[b.Builder], b)
		}
	}
	for i := range a.Bids {
		b := &a.Bids[i]
		if b.Refused {
			continue
		}
		until := never
		for _, c := range cancels[b.Builder] {
			if c != b && (c.Done == 0 || c.Done > b.Sent) { // it may have come after the bid
				until = min(until, c.Sent)
			}
		}
		list = append(list, standing{b, until})
	}
	return list
}

// wrongBest says what is wrong with a header's value, if anything is.
func (a *Auction) wrongBest(h *Served, best *Bid, bids []standing) string {
	if h.Empty {
		if best == nil || h.Done >= a.Ends || len(a.Deliveries) > 0 && h.Done > a.Deliveries[0].Sent {
			return ""
		}
		return fmt.Sprintf("slot %d: no bid was served at %s, though %s", a.Slot, moment(h.Sent), accepted(best))
	}
	if h.Unreadable != "" {
		return fmt.Sprintf("slot %d: nobody can read what was served at %s: %s", a.Slot, moment(h.Sent), h.Unreadable)
	}
	if best != nil && h.Value.Lt(&best.Value) {
		return fmt.Sprintf("slot %d: %s wei were served at %s, though %s", a.Slot, h.Value.Dec(), moment(h.Sent),
			accepted(best))
	}
	if len(bids) > 0 && !bids[0].Value.Eq(&h.Value) {
		return fmt.Sprintf("slot %d: %s wei were served at %s for block %#x, which pays %s", a.Slot, h.Value.Dec(),
			moment(h.Sent), h.Block[:8], bids[0].Value.Dec())
	}
	return ""
}

// stale says what is old in a header, if anything is.
func (a *Auction) stale(h *Served, seen []*Served, byBlock map[[32]byte][]standing) string {
	if h.Empty || h.Unreadable != "" {
		return ""
	}
	bids := byBlock[h.Block]
	switch {
	case h.Parent != a.Parent:
		return fmt.Sprintf("slot %d: the header served at %s is on parent %#x, not on %#x", a.Slot, moment(h.Sent),
			h.Parent[:8], a.Parent[:8])
	case !slices.ContainsFunc(bids, func(s standing) bool { return s.Sent <= h.Done }):
		return fmt.Sprintf("slot %d: block %#x was served at %s, which nobody had submitted for the slot", a.Slot,
			h.Block[:8], moment(h.Sent))
	}
	for _, before := range seen {
		if before.Done <= h.Sent && h.Value.Lt(&before.Value) && stands(byBlock[before.Block], h.Done) {
			return fmt.Sprintf("slot %d: %s wei were served at %s to a client that had seen %s at %s", a.Slot, h.Value.Dec(),
				moment(h.Sent), before.Value.Dec(), moment(before.Done))
		}
	}
	return ""
}

// remember adds what a client has seen, and forgets what says no more than that. A client has one
// request under way at a time.
func remember(seen []*Served, h *Served, byBlock map[[32]byte][]standing) []*Served {
	same := func(s *Served) bool { return s.Block == h.Block && s.Value.Eq(&h.Value) }
	if h.Empty || h.Unreadable != "" || slices.ContainsFunc(seen, same) {
		return seen
	}
	if stands(byBlock[h.Block], never) {
		seen = slices.DeleteFunc(seen, func(s *Served) bool { return s.Value.Cmp(&h.Value) <= 0 })
	}
	return append(seen, h)
}

// stands says whether a block that was served has a bid that nothing can have ended before a time.
func stands(bids []standing, at time.Duration) bool {
	return len(bids) > 0 && !slices.ContainsFunc(bids, func(s standing) bool { return s.until < at })
}

func accepted(b *Bid) string {
	return fmt.Sprintf("%s wei of builder %s were accepted at %s", b.Value.Dec(), b.Builder, moment(b.Done))
}

// moment writes a time of the run.
func moment(at time.Duration) string { return fmt.Sprintf("%.4f s", at.Seconds()) }
