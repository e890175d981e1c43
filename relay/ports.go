package relay

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Facts records what happened. Record never blocks on a disk or a network and keeps the order of
// its calls. It counts and reports by itself what it cannot keep, since no caller could do anything
// about that. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}

// Escrow keeps payloads, so that the payload of a served header can be delivered after a crash.
// Both calls are safe for concurrent use.
type Escrow interface {
	// Put returns only when the contents would survive a crash of this process. The key is their ID.
	Put(ctx context.Context, contents *Contents) error
	// Get returns nil without an error for a payload that was never put, or that has expired.
	Get(ctx context.Context, id PayloadID) (*Contents, error)
}

// PayloadID is the escrow's key. Before a block is executed, its hash is only its builder's claim.
// So the key names the builder too: if others send a payload under the same hash, it is kept under
// a key of its own.
type PayloadID struct {
	Slot      phase0.Slot
	BlockHash phase0.Hash32
	Builder   phase0.BLSPubKey
}

// ID is the escrow's key of the contents.
func (c *Contents) ID() PayloadID {
	return PayloadID{phase0.Slot(c.Trace.Slot), c.Payload.BlockHash, c.Trace.BuilderPubkey}
}

// Size is about how many bytes the contents keep in memory. If they were read from SSZ, their blobs
// are parts of Raw and are counted there.
func (c *Contents) Size() int {
	size := len(c.Raw)
	for _, tx := range c.Payload.Transactions {
		size += len(tx)
	}
	if c.Gloas != nil {
		size += len(c.Gloas.AccessList)
	}
	if (c.Raw == nil || c.Gloas != nil) && c.Blobs != nil { // blobs of gloas are copied out of Raw
		size += len(c.Blobs.Blobs) * len(deneb.Blob{})
	}
	return size
}
