package web

import (
	"maps"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Bounds of what is remembered. A busy slot of mainnet has some thousand submissions.
const (
	// Slots is how many auctions are remembered, those of the highest slots.
	Slots = 64
	// maxBids is how many submissions of one auction are remembered, maxRefused how many of those that
	// were refused, apart from them, since strangers can send any number, and maxEvents how many
	// changes of its lead, headers and refused payloads, each. More are only counted.
	maxBids    = 4000
	maxRefused = 500
	maxEvents  = 1000
)

// Bid is a submission and what became of it.
type Bid struct {
	At time.Time // received
	// Builder is zero if the sender did not prove who it is.
	Builder    phase0.BLSPubKey
	BlockHash  phase0.Hash32
	ValueWei   *uint256.Int
	NumTx      int
	NumBlobs   int
	Eligible   bool   // it counts
	Refusal    string // the id in the catalogue; empty if it was not refused
	Optimistic bool
	// Cancellable: it takes the place of the builder's earlier one, also of a higher one.
	Cancellable bool
}

// Lead is a bid that began to lead. Without a value none leads any more.
type Lead struct {
	At        time.Time
	Builder   phase0.BLSPubKey
	BlockHash phase0.Hash32
	ValueWei  *uint256.Int
}

// Auction is what the facts tell of one slot. Lists are in the order of the facts.
type Auction struct {
	Slot     phase0.Slot
	Proposer phase0.BLSPubKey
	Bids     []Bid
	// Refusals are submissions that were refused, and RefusedTimes counts them all by refusal.
	Refusals     []Bid
	RefusedTimes map[string]int
	// Unlisted counts submissions, changes, headers and refused payloads that found no room in the
	// lists.
	Unlisted  int
	Leads     []Lead
	Headers   []relay.HeaderServed
	Delivered *relay.PayloadDelivered
	Refused   []relay.PayloadRefused
}

// Auctions are the newest auctions. The zero value without Spec is not ready. It is not safe for
// concurrent use.
type Auctions struct {
	Spec *eth.Spec

	bySlot map[phase0.Slot]*Auction
	// changes counts the facts that were taken up.
	changes uint64
}

// Changes differs whenever anything has changed.
func (a *Auctions) Changes() uint64 { return a.changes }

// Of returns a copy of a slot's auction; false if nothing is known of it. The lists must not be
// changed.
func (a *Auctions) Of(slot phase0.Slot) (Auction, bool) {
	found := a.bySlot[slot]
	if found == nil {
		return Auction{Slot: slot}, false
	}
	copied := *found // its lists only grow, so that what they have now stays as it is
	copied.RefusedTimes = maps.Clone(found.RefusedTimes)
	return copied, true
}

// Listed are the slots that are remembered, the newest first.
func (a *Auctions) Listed() []phase0.Slot {
	slots := make([]phase0.Slot, 0, len(a.bySlot))
	for slot := range a.bySlot {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	slices.Reverse(slots)
	return slots
}

// Record takes up a fact. Facts that are about no auction change nothing.
func (a *Auctions) Record(fact relay.Fact) {
	switch f := fact.(type) {
	case relay.SubmissionJudged:
		a.addJudged(f)
	case relay.TopChanged:
		if auction := a.open(f.Slot, f.At); auction != nil {
			auction.Proposer = f.Proposer
			lead := Lead{f.At, f.Builder, f.BlockHash, f.ValueWei}
			if f.ValueWei != nil && f.ValueWei.IsZero() {
				lead.ValueWei = nil
			}
			auction.Leads = appendBounded(auction, auction.Leads, lead, maxEvents)
		}
	case relay.HeaderServed:
		if auction := a.open(f.Slot, f.At); auction != nil {
			auction.Headers = appendBounded(auction, auction.Headers, f, maxEvents)
		}
	case relay.PayloadDelivered:
		if auction := a.open(f.Slot, f.At); auction != nil {
			auction.Delivered, auction.Proposer = &f, f.Proposer
		}
	case relay.PayloadRefused:
		if auction := a.open(f.Slot, f.At); auction != nil {
			auction.Refused = appendBounded(auction, auction.Refused, f, maxEvents)
		}
	default:
		return
	}
	a.changes++
}

func (a *Auctions) addJudged(f relay.SubmissionJudged) {
	auction := a.open(f.Slot, f.ReceivedAt)
	if auction == nil {
		return
	}
	bid := Bid{
		At: f.ReceivedAt, Builder: f.Builder, BlockHash: f.BlockHash, ValueWei: f.ValueWei, NumTx: f.NumTx,
		NumBlobs: f.NumBlobs, Eligible: !f.EligibleAt.IsZero(), Refusal: f.Refusal, Optimistic: f.Optimistic,
		Cancellable: f.Cancellable,
	}
	if f.Refusal == "" {
		auction.Bids = appendBounded(auction, auction.Bids, bid, maxBids)
		return
	}
	auction.Refusals = appendBounded(auction, auction.Refusals, bid, maxRefused)
	if auction.RefusedTimes == nil {
		auction.RefusedTimes = map[string]int{}
	}
	auction.RefusedTimes[f.Refusal]++
}

func appendBounded[T any](auction *Auction, list []T, item T, limit int) []T {
	if len(list) >= limit {
		auction.Unlisted++
		return list
	}
	return append(list, item)
}

// open finds or begins the auction of a slot. It returns nil for a slot that is not near the time
// of the fact: senders choose the slots of what is refused, and could drive out all others.
func (a *Auctions) open(slot phase0.Slot, at time.Time) *Auction {
	if found := a.bySlot[slot]; found != nil {
		return found
	}
	now := a.Spec.SlotAt(at)
	if slot > now+2 || slot+Slots < now {
		return nil
	}
	if a.bySlot == nil {
		a.bySlot = map[phase0.Slot]*Auction{}
	}
	begun := &Auction{Slot: slot}
	a.bySlot[slot] = begun
	for len(a.bySlot) > Slots {
		lowest := slot
		for other := range a.bySlot {
			lowest = min(lowest, other)
		}
		delete(a.bySlot, lowest)
	}
	return begun
}
