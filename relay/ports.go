package relay

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Facts takes what happened. Record never blocks on a disk or a network and keeps the order of its calls; what it cannot keep it counts
// and reports by itself, since no caller could do anything about it. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}

// Escrow keeps payloads so that a served header can be honoured after a crash. Both calls are safe for concurrent use.
type Escrow interface {
	// Put returns only when the contents would survive a crash of this process. The key is the slot and the block hash.
	Put(ctx context.Context, contents *Contents) error
	// Get answers nil without an error for a block that was never put, or whose time is over.
	Get(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) (*Contents, error)
}
