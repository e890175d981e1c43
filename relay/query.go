package relay

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Order is how a list of traces is sorted.
type Order uint8

// The orders. Newest is by slot, then by time, descending.
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
	Order       Order
	// Limit is the greatest number of rows; 0 gives none.
	Limit int
}

// ReceivedTrace is a submission that counted.
type ReceivedTrace struct {
	Trace
	ReceivedAt time.Time
	Optimistic bool
}
