package top

import (
	"context"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// HeadSource tells the slot of the chain's head. It never blocks.
type HeadSource interface {
	Head() relay.Head
}

// Headers answers getHeader: the leading bid, and the rules of when it may be read (decision 6).
type Headers struct {
	Bids *Bids
	Spec *eth.Spec
	Head HeadSource
	// CutOff is how far into its slot a header is still served, in chain time; 0 means always.
	CutOff time.Duration
	// Stopped, if set, says that no header is served now: the operator's kill switch. It never blocks.
	Stopped func() bool

	// Delay is how far into its slot an answer is held back, in chain time, so that it is about a
	// later top; 0 holds none. Only a client that says how long it waits is held.
	Delay time.Duration
	// Margin is how long before the client stops waiting it is answered at the latest, in chain time;
	// 0 means 100 ms.
	Margin time.Duration
	// Clock is needed with a Delay only.
	Clock clock.Clock
}

// defaultMargin is the way back to the client and a bad moment of the scheduler.
const defaultMargin = 100 * time.Millisecond

// Header is the bid to serve to a request of a moment; nil without an error means that there is
// none (204). It is refused only if the slot is over. Before the slot starts a bid is served if
// there is one. A client that goes away while it is held gets none.
func (h *Headers) Header(ctx context.Context, at time.Time, key relay.Key,
	clientDeadline time.Time) (*relay.SignedBid, error) {
	if head := h.Head.Head().Slot; key.Slot < head {
		return nil, relay.SlotTooOld.With("slot %d, head is at slot %d", key.Slot, head)
	}
	if h.CutOff > 0 && at.Sub(h.Spec.SlotStart(key.Slot)) > h.CutOff {
		return nil, nil
	}
	if until := h.heldUntil(at, key, clientDeadline); until.After(at) {
		if err := h.Clock.Until(ctx, until); err != nil {
			return nil, nil // the client is gone, or the relay stops: nothing is served
		}
		at = h.Clock.Now()
	}
	if h.Stopped != nil && h.Stopped() {
		return nil, nil
	}
	top := h.Bids.top(key)
	if top == nil {
		return nil, nil
	}
	bid := top.bid
	if bid.Signing != nil {
		whole, err := bid.Signing()
		if err != nil {
			return nil, nil // told where it was signed: without a signature none is served
		}
		bid = whole
	}
	h.Bids.serve(top, key, bid, at)
	return bid, nil
}

// heldUntil is the moment at which a request is answered: into the slot by Delay, but before the
// client stops waiting and not after the cut-off. Nobody is held for longer than a slot: a deadline
// beyond that is a mistake, or an attempt to keep connections busy.
func (h *Headers) heldUntil(at time.Time, key relay.Key, clientDeadline time.Time) time.Time {
	if h.Delay <= 0 || clientDeadline.IsZero() {
		return at
	}
	start := h.Spec.SlotStart(key.Slot)
	margin := h.Margin
	if margin <= 0 {
		margin = defaultMargin
	}
	until := start.Add(h.Delay)
	if latest := clientDeadline.Add(-margin); latest.Before(until) {
		until = latest
	}
	if latest := start.Add(h.CutOff); h.CutOff > 0 && latest.Before(until) {
		until = latest
	}
	if until.Sub(at) > h.Spec.SlotDuration {
		return at
	}
	return until
}
