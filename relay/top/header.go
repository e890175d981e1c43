package top

import (
	"context"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// HeadSource tells the slot of the chain's head. It never blocks.
type HeadSource interface {
	Head() relay.Head
}

// Headers answers getHeader: the board, and the rules of when it may be read (decision 6).
type Headers struct {
	Board *Board
	Spec  *eth.Spec
	Head  HeadSource
	Facts relay.Facts
	// CutOff is how far into its slot a header is still served, in chain time; 0 means always.
	CutOff time.Duration
}

// Header is the bid to serve at a moment; nil without an error means that there is none (204). It is refused only if the slot is over.
// Before the slot starts a bid is served if there is one. The client's deadline does not matter here: the answer is immediate.
func (h *Headers) Header(_ context.Context, at time.Time, key relay.Key, _ time.Time) (*relay.SignedBid, error) {
	if head := h.Head.Head().Slot; key.Slot < head {
		return nil, relay.SlotTooOld.With("slot %d, head is at slot %d", key.Slot, head)
	}
	if h.CutOff > 0 && at.Sub(h.Spec.SlotStart(key.Slot)) > h.CutOff {
		return nil, nil
	}
	bid := h.Board.Top(key)
	if bid == nil {
		return nil, nil
	}
	h.Facts.Record(relay.HeaderServed{At: at, Slot: key.Slot, Proposer: key.Proposer, BlockHash: bid.BlockHash, ValueWei: bid.ValueWei})
	return bid, nil
}
