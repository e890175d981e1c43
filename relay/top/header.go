package top

import (
	"context"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// HeadSource knows the head of the chain. It never blocks.
type HeadSource interface {
	Head() relay.Head
}

// Headers answers getHeader: with the top bid, at the times at which it may be served (decision 6).
type Headers struct {
	Bids *Bids
	Spec *eth.Spec
	Head HeadSource
	// CutOff is how far into its slot a header is still served, in chain time; 0 means always.
	CutOff time.Duration
	// Stopped, if set, says whether no header is served now, because of the operator's kill switch. It
	// never blocks.
	Stopped func() bool
	// Sold, if set, says whether another instance has delivered a payload of a slot: nothing more is
	// sold for it here. It never blocks.
	Sold func(slot phase0.Slot) bool

	// Delay is how far into its slot an answer is held back, in chain time, so that later bids can
	// win; 0 holds none back. It applies only to clients that say how long they wait.
	Delay time.Duration
	// Margin is how long before the client stops waiting the answer is sent at the latest, in chain
	// time; 0 means 100 ms.
	Margin time.Duration
	// Clock is needed with a Delay only.
	Clock clock.Clock
}

// defaultMargin allows for the network's delay to the client and for a delay of the scheduler.
const defaultMargin = 100 * time.Millisecond

// Header returns the bid to serve for a request that came at a time; nil without an error means
// that there is none (204). The request is refused only if the head is beyond the slot. A bid is
// served even before its slot starts. If the client goes away while its answer is held back,
// nothing is served.
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
	if h.Sold != nil && h.Sold(key.Slot) {
		return nil, nil
	}
	top := h.Bids.top(key)
	if top == nil || top.bid.Fork.HasAccessLists() {
		return nil, nil // from gloas on bids stand in blocks: see relay/bidder
	}
	bid := top.bid
	if bid.Signing != nil {
		whole, err := bid.Signing()
		if err != nil {
			return nil, nil // reported where it was signed; a bid without a signature is not served
		}
		bid = whole
	}
	h.Bids.serve(top, key, bid, at)
	return bid, nil
}

// heldUntil returns the time at which a request is answered: Delay after the slot's start, but
// before the client stops waiting and not after the cut-off. A request that would be held for
// longer than a slot is answered at once: such a deadline is a mistake, or an attempt to keep
// connections busy.
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
