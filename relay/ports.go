package relay

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Facts takes what happened. Record never blocks on a disk or a network and keeps the order of its
// calls; what it cannot keep it counts and reports by itself, since no caller could do anything
// about it. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}

// Escrow keeps payloads so that a served header can be honoured after a crash. Both calls are safe
// for concurrent use.
type Escrow interface {
	// Put returns only when the contents would survive a crash of this process. The key is their ID.
	Put(ctx context.Context, contents *Contents) error
	// Get answers nil without an error for a payload that was never put, or whose time is over.
	Get(ctx context.Context, id PayloadID) (*Contents, error)
}

// PayloadID is the escrow's key. Until a block is executed its hash is its builder's word, so that
// it names a payload of that builder alone: what others send under the same hash stands beside it.
type PayloadID struct {
	Slot      phase0.Slot
	BlockHash phase0.Hash32
	Builder   phase0.BLSPubKey
}

// ID is the escrow's key of the contents.
func (c *Contents) ID() PayloadID {
	return PayloadID{phase0.Slot(c.Trace.Slot), c.Payload.BlockHash, c.Trace.BuilderPubkey}
}

// Size is about how many bytes the contents keep in memory. What was read from SSZ has its blobs in
// there.
func (c *Contents) Size() int {
	size := len(c.Raw)
	for _, tx := range c.Payload.Transactions {
		size += len(tx)
	}
	if c.Raw == nil && c.Blobs != nil {
		size += len(c.Blobs.Blobs) * len(deneb.Blob{})
	}
	return size
}
