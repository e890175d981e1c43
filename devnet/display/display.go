// Package display shows a run of the devnet to the person who started it. It only renders: it is
// given what happened and writes text; it reads no clock and makes no requests. There are two
// styles: plain lines for pipes and logs, and a table for terminals, which is repainted in place.
//
//	Start ─▶ Slot (open, may come again as bids rise) ─▶ Slot (finished, once) ─▶ … ─▶ Done
//	           Note and Flow may come at any time
package display

import (
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Output receives what happens in a run. Implementations must be safe for concurrent use. They keep
// of their arguments only what they must print again, and do not change them.
type Output interface {
	// Start is called first, once all parts can be reached.
	Start(Run)
	// Slot is called any number of times while a slot is open, once when it is finished, and never
	// again after that.
	Slot(Slot)
	// Flow gives the counts of orders since the start.
	Flow(Flow)
	// Note gives a line that belongs to no slot.
	Note(string)
	// Done is called last. Its text ends with the verdict.
	Done(Summary)
}

// Run describes the run that begins.
type Run struct {
	// Slots is how many slots the run has; 0 if it runs until it is stopped.
	Slots int
	// SlotDuration is chain time. Speed is how many times faster than wall time the chain runs.
	SlotDuration time.Duration
	Speed        float64
	Validators   int
	Builders     int
	// Endpoints can be called from outside; the most important ones come first.
	Endpoints []Endpoint
}

// Endpoint is an interface of a part, with the URL where it listens.
type Endpoint struct {
	Name string // "relay"
	URL  string
}

// Slot is what is shown of one slot.
type Slot struct {
	Number   uint64
	Fork     eth.Fork
	Proposer uint64 // validator index
	// Open slots are still being auctioned; only the live style shows them.
	Open bool
	// Bids is how many submissions the relay accepted.
	Bids int
	// Values are the accepted bids' values in wei, in the order in which they came.
	Values []*uint256.Int
	// TopWei is the value of the bid that the proposer took, or of the leading bid while the slot
	// is open; nil if there is none.
	TopWei *uint256.Int
	// Winner is who built the block: for example "builder-1", or Local. It is empty if the slot has
	// no block.
	Winner string
	// Delivered says that the relay published the payload, Landed that the block is on the
	// canonical chain.
	Delivered, Landed bool
	Txs, Blobs        int
	// Payload is set from gloas on.
	Payload *Payload
	// Flow has the counts of orders since the slot before; it is set when the slot is finished.
	Flow Flow
	// Note describes in a few words what was unusual.
	Note string
	// Took are the wall times of the slot's stages, in their order.
	Took []Stage
}

// Payload is what became of a payload that was bid for.
type Payload struct {
	// Full says that the chain has it. Of Members of the payload timeliness committee, Votes have seen
	// it in time.
	Full           bool
	Votes, Members int
	// ValueGwei is what the builder pays from its stake, PaymentGwei what it has promised within the
	// payload; both are zero for a proposer's own payload.
	ValueGwei, PaymentGwei uint64
}

// Local is the winner of a slot whose block the proposer's own node built.
const Local = "local"

// Stage is a step of a slot, and how long it took in wall time.
type Stage struct {
	Name string // "header", "deliver"
	Took time.Duration
}

// Summary is the result of a run.
type Summary struct {
	// Slots is how many slots were finished. Delivered is how many payloads the relay published,
	// and Landed how many of these are on the canonical chain. Local is how many blocks proposers
	// built themselves, and Missed how many slots have no block.
	Slots, Delivered, Landed, Local, Missed int
	// PaidWei is what builders' blocks paid to proposers, read from the chain; nil means nothing.
	PaidWei *uint256.Int
	// FirstDelivery is the wall time from the start of the program to the first delivered payload;
	// 0 if there was none.
	FirstDelivery time.Duration
	// RoundTripMedian is the median wall time from the request for a header to the payload's
	// delivery; 0 if there was none.
	RoundTripMedian time.Duration
	// Wall is the wall time of the whole run.
	Wall time.Duration
	// Flow has the counts of orders.
	Flow Flow
	// Replayed says what became of the transactions of a file, one line each.
	Replayed []string
	// Problems say what went wrong, one line each.
	Problems []string
}

// OK says whether the run was flawless: every slot's payload was delivered and landed, and there
// were no problems.
func (s Summary) OK() bool {
	return s.Landed == s.Slots && s.Delivered == s.Slots && len(s.Problems) == 0
}
