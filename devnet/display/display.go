// Package display shows a run of the devnet to the one who started it. It is pure rendering: it is
// told what happened and writes text; it reads no clock and asks nobody. There are two manners,
// plain lines for pipes and logs, and a table that is repainted in place for a terminal.
//
//	Start ─▶ Slot (open, may come again as bids rise) ─▶ Slot (finished, once) ─▶ … ─▶ Done
//	           Note and Flow may come at any time
package display

import (
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Output is told what happens in a run. Implementations may be called from several goroutines. They
// keep nothing of what they are given but what they must print again, and change none of it.
type Output interface {
	// Start comes first, once all parts can be reached.
	Start(Run)
	// Slot tells of a slot: any number of times while it is open, once when it is finished, never
	// after that.
	Slot(Slot)
	// Flow tells what became of orders since the start.
	Flow(Flow)
	// Note says something that belongs to no slot, in one line.
	Note(string)
	// Done comes last. It ends with the verdict.
	Done(Summary)
}

// Run is what was started.
type Run struct {
	// Slots is how many slots the run will have; 0 when it runs until it is stopped.
	Slots int
	// SlotDuration is chain time; Speed says how many times faster than the wall it passes.
	SlotDuration time.Duration
	Speed        float64
	Validators   int
	Builders     int
	// Endpoints can be called from outside, in the order of importance.
	Endpoints []Endpoint
}

// Endpoint is an interface of a part and where it listens.
type Endpoint struct {
	Name string // "relay"
	URL  string
}

// Slot is the story of one slot.
type Slot struct {
	Number   uint64
	Fork     eth.Fork
	Proposer uint64 // validator index
	// Open slots are still being auctioned; only the live manner shows them.
	Open bool
	// Bids is how many submissions the relay accepted.
	Bids int
	// Values are the accepted bids' values in wei in the order of time.
	Values []*uint256.Int
	// TopWei is the value of the bid that the proposer took, of the leading one while the slot is
	// open; nil without one.
	TopWei *uint256.Int
	// Winner built the block: "builder-1", or Local. Empty when the slot has no block.
	Winner string
	// Delivered: the relay published the payload. Landed: the block is on the canonical chain.
	Delivered, Landed bool
	Txs, Blobs        int
	// Flow is what became of orders since the slot before; it is told when the slot is finished.
	Flow Flow
	// Note is what was unusual, in a few words.
	Note string
	// Took are the wall times of the slot's stages in their order.
	Took []Stage
}

// Local is the winner of a slot whose block the proposer's own node built.
const Local = "local"

// Stage is a step of a slot and how long it took on the wall clock.
type Stage struct {
	Name string // "header", "deliver"
	Took time.Duration
}

// Summary is what became of the run.
type Summary struct {
	// Slots is how many were finished. Delivered payloads were published by the relay; Landed of them
	// are on the canonical chain. Local blocks were built by proposers themselves; Missed slots have
	// no block.
	Slots, Delivered, Landed, Local, Missed int
	// PaidWei is what proposers were paid by the blocks of builders, read from the chain; nil is
	// nothing.
	PaidWei *uint256.Int
	// FirstDelivery is the wall time from the start of the program to the first delivered payload; 0
	// without one.
	FirstDelivery time.Duration
	// RoundTripMedian is the median wall time from asking for a header to the payload's delivery; 0
	// without one.
	RoundTripMedian time.Duration
	// Wall is how long the whole run took.
	Wall time.Duration
	// Flow is what became of orders.
	Flow Flow
	// Problems say what went wrong, one line each. Empty in a good run.
	Problems []string
}

// OK says whether the run was flawless: every slot's payload was delivered, landed, and nobody
// complained.
func (s Summary) OK() bool {
	return s.Landed == s.Slots && s.Delivered == s.Slots && len(s.Problems) == 0
}
