package relay

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Order is how a list of traces is sorted.
type Order uint8

// The orders. Newest is by slot, then by the fact's place in the journal, descending.
const (
	Newest Order = iota
	ValueAscending
	ValueDescending
)

// TraceQuery asks the archive for traces. Nil fields do not restrict.
type TraceQuery struct {
	Slot *phase0.Slot
	// Cursor is the greatest slot to list.
	Cursor      *phase0.Slot
	BlockHash   *phase0.Hash32
	BlockNumber *uint64
	Proposer    *phase0.BLSPubKey
	Builder     *phase0.BLSPubKey
	// After and UpTo restrict the rows to facts after one place in the journal and up to another. 0
	// does not restrict.
	After, UpTo uint64
	Order       Order
	// Limit is the greatest number of rows; 0 gives none.
	Limit int
}

// DeliveredTrace is a payload that was published; its value is the one that the proposer signed
// for.
type DeliveredTrace struct {
	Trace
	// PaidWei is what the block was found to pay, at least; nil if that is not known (yet).
	PaidWei *uint256.Int
}

// Mark identifies a state of a slot's received submissions. Rows are added, and old ones are
// pruned, but none is changed.
type Mark struct {
	Rows   int64
	Newest uint64 // place of the newest row's fact in the journal
}

// ReceivedTrace is a submission that counted.
type ReceivedTrace struct {
	Trace
	ReceivedAt time.Time
	Optimistic bool
}
