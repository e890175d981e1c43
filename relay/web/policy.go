package web

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Policy says what the website may show when. It is the only place that decides this:
//
//	                                   while the auction runs                  once it is over
//	builders                           as A, B, C in the order of their bids   by name, or by public key
//	block hashes                       not shown                               shown
//	values of bids that led            shown, unless HideLeading               shown
//	values of other bids               shown, unless HideLosing or HideLeading shown
//	why a submission was refused       by the refusal's name                   by the refusal's name
//	details of refusals, addresses     never                                   never
//
// An auction is over when its block was delivered, or when no block of it can be delivered any
// more.
type Policy struct {
	Spec *eth.Spec
	// OverAfter is how far into its slot an auction is over, at the latest.
	OverAfter time.Duration
	// HideLosing holds back values of bids that have not led while the auction runs. HideLeading holds
	// back all values: it is for a relay that shows its leading bids to some builders only.
	HideLosing, HideLeading bool
	// Name returns the name of a builder that the operator lists; empty for all others.
	Name func(phase0.BLSPubKey) string
}

// Over says whether an auction is over.
func (p *Policy) Over(a *Auction, at time.Time) bool {
	return a.Delivered != nil || !at.Before(p.Spec.SlotStart(a.Slot).Add(p.OverAfter))
}

// Who is a builder as it may be shown.
type Who struct {
	// Label is its name, its public key, or a letter.
	Label string
	// Key is its public key; empty while that is secret.
	Key string
}

// ShownBid is a submission as it may be shown. A nil value is held back.
type ShownBid struct {
	// IntoSlotMs is when it came; before the slot's start it is negative.
	IntoSlotMs  int64
	Builder     Who
	BlockHash   string // empty while it is secret
	ValueWei    *uint256.Int
	NumTx       int
	NumBlobs    int
	Eligible    bool
	Refusal     string
	Optimistic  bool
	Led         bool // it led at some time
	Cancellable bool
}

// ShownLead is a change of the lead as it may be shown.
type ShownLead struct {
	IntoSlotMs int64
	Builder    Who // empty if none leads any more
	BlockHash  string
	// ValueWei is nil if it is held back, or none leads any more.
	ValueWei *uint256.Int
	None     bool
}

// ShownHeader is a header that was served, as it may be shown.
type ShownHeader struct {
	IntoSlotMs int64
	Builder    Who
	ValueWei   *uint256.Int
	Times      int
}

// Shown is an auction as it may be shown.
type Shown struct {
	Slot     phase0.Slot
	Over     bool
	Proposer phase0.BLSPubKey // public by the beacon chain's duties
	Bids     []ShownBid       // refused ones, too, by the time at which they came
	Unlisted int
	Leads    []ShownLead
	Headers  []ShownHeader
	// Delivered is there only once the auction is over.
	Delivered *Receipt
	// RefusedBids counts refused submissions, and Refused signed headers without a payload, by
	// refusal.
	RefusedBids, Refused []Count
}

// Receipt is what was delivered.
type Receipt struct {
	IntoSlotMs   int64
	Builder      Who
	BlockHash    string
	BlockRoot    string
	BlockNumber  uint64
	FeeRecipient string
	ValueWei     *uint256.Int
	PaidWei      *uint256.Int // nil if it is not known
	GasUsed      uint64
	NumTx        int
	NumBlobs     int
}

// Count is how often something happened.
type Count struct {
	Name  string
	Times int
}

// Show returns what may be shown of an auction at a time.
func (p *Policy) Show(a *Auction, at time.Time) Shown {
	s := Shown{Slot: a.Slot, Over: p.Over(a, at), Proposer: a.Proposer, Unlisted: a.Unlisted}
	who, led := p.names(a, s.Over), map[phase0.Hash32]bool{}
	begin := p.Spec.SlotStart(a.Slot)
	hash := func(h phase0.Hash32) string {
		if !s.Over {
			return ""
		}
		return hex(h[:])
	}
	for _, lead := range a.Leads {
		shown := ShownLead{IntoSlotMs: lead.At.Sub(begin).Milliseconds(), None: lead.ValueWei == nil}
		if lead.ValueWei != nil {
			led[lead.BlockHash] = true
			shown.Builder, shown.BlockHash = who(lead.Builder), hash(lead.BlockHash)
			shown.ValueWei = p.value(lead.ValueWei, s.Over, true)
		}
		s.Leads = append(s.Leads, shown)
	}
	for _, bid := range slices.Concat(a.Bids, a.Refusals) {
		s.Bids = append(s.Bids, ShownBid{
			IntoSlotMs: bid.At.Sub(begin).Milliseconds(), Builder: who(bid.Builder), BlockHash: hash(bid.BlockHash),
			ValueWei: p.value(bid.ValueWei, s.Over, led[bid.BlockHash]), NumTx: bid.NumTx, NumBlobs: bid.NumBlobs,
			Eligible: bid.Eligible, Refusal: bid.Refusal, Optimistic: bid.Optimistic, Led: led[bid.BlockHash],
			Cancellable: bid.Cancellable,
		})
	}
	slices.SortStableFunc(s.Bids, func(a, b ShownBid) int { return cmp.Compare(a.IntoSlotMs, b.IntoSlotMs) })
	for _, header := range a.Headers {
		s.Headers = append(s.Headers, ShownHeader{IntoSlotMs: header.At.Sub(begin).Milliseconds(),
			Builder: who(header.Builder), ValueWei: p.value(header.ValueWei, s.Over, true), Times: header.Count()})
	}
	if d := a.Delivered; d != nil {
		s.Delivered = &Receipt{IntoSlotMs: d.MsIntoSlot, Builder: who(d.Builder), BlockHash: hex(d.BlockHash[:]),
			BlockRoot: hex(d.BlockRoot[:]), BlockNumber: d.BlockNumber, FeeRecipient: hex(d.FeeRecipient[:]),
			ValueWei: d.ValueWei, PaidWei: d.PaidWei, GasUsed: d.GasUsed, NumTx: d.NumTx, NumBlobs: d.NumBlobs}
	}
	unpaid := map[string]int{}
	for _, refused := range a.Refused {
		unpaid[refused.Refusal]++
	}
	s.RefusedBids, s.Refused = sortCounts(a.RefusedTimes), sortCounts(unpaid)
	return s
}

// value returns a value if it may be shown.
func (p *Policy) value(valueWei *uint256.Int, over, led bool) *uint256.Int {
	if over || !p.HideLeading && (led || !p.HideLosing) {
		return valueWei
	}
	return nil
}

// names returns how builders are called: by letters while the auction runs, in the order in which
// they appear.
func (p *Policy) names(a *Auction, over bool) func(phase0.BLSPubKey) Who {
	if over {
		return p.Who
	}
	letters := map[phase0.BLSPubKey]string{}
	of := func(key phase0.BLSPubKey) Who {
		if key == (phase0.BLSPubKey{}) {
			return unproven
		}
		if letters[key] == "" {
			letters[key] = letter(len(letters))
		}
		return Who{Label: letters[key]}
	}
	for _, bid := range a.Bids {
		of(bid.Builder)
	}
	return of
}

// unproven is who sends without a valid signature: the key in the message is only a claim.
var unproven = Who{Label: "not proven"}

// Who returns a builder of an auction that is over.
func (p *Policy) Who(key phase0.BLSPubKey) Who {
	if key == (phase0.BLSPubKey{}) {
		return unproven
	}
	name := ""
	if p.Name != nil {
		name = p.Name(key)
	}
	return Who{Label: cmp.Or(name, short(key[:])), Key: hex(key[:])}
}

// letter is A to Z, then A1, B1 and so on.
func letter(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return fmt.Sprintf("%c%d", 'A'+n%26, n/26)
}
