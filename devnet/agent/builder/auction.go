package builder

import (
	"context"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/client"
)

// auction does in one auction what the strategy decides, until the strategy stops or newer
// attributes come.
func (b *Builder) auction(ctx context.Context, a Attributes) {
	defer b.sending.Wait()
	duty, err := b.duty(ctx, a.Slot)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Warn("no bid", "builder", b.Name, "slot", a.Slot, "error", err)
		}
		return
	}
	if b.Conduct.Replay {
		b.submitKept(ctx)
	}
	b.askToLeave(ctx, a.Slot)
	start := b.Spec.SlotStart(a.Slot)
	s := Situation{Slot: uint64(a.Slot), Length: b.Spec.SlotDuration, Began: b.Clock.Now().Sub(start)}
	for ctx.Err() == nil {
		s.Now = b.Clock.Now().Sub(start)
		s.TopWei, s.Leading = b.top.of(a, b.Key.PublicKey())
		switch d := b.Strategy.Decide(s); d.Do {
		case Rest, Stop:
			if s.Failed > 0 {
				b.Log.Warn("bid given up", "builder", b.Name, "slot", a.Slot, "bid", s.Bids, "tries", s.Failed)
			}
			return
		case Wait:
			_ = b.Clock.Until(ctx, start.Add(d.Until)) // the context's end also ends the loop
		case Bid:
			s = b.tryBid(ctx, a, duty, d, s)
		}
	}
}

// tryBid makes a bid and returns the situation after it.
func (b *Builder) tryBid(ctx context.Context, a Attributes, duty client.Duty, d Decision, s Situation) Situation {
	paid, err := b.bid(ctx, a, duty, d)
	switch {
	case errors.Is(err, ErrNotBetter):
		s.Bids, s.Failed = s.Bids+1, 0
	case err != nil:
		s.Failed, s.FailedAt = s.Failed+1, b.Clock.Now().Sub(b.Spec.SlotStart(a.Slot))
		if ctx.Err() == nil {
			b.Log.Debug("bid failed", "builder", b.Name, "slot", a.Slot, "bid", s.Bids, "error", err)
		}
	default:
		s.Bids, s.LastWei, s.Failed = s.Bids+1, paid, 0
		s.TookBack = s.TookBack || d.TakeBack
	}
	return s
}

// dutyLooks is how often in a slot relays are asked again who proposes.
const dutyLooks = 12

var errNotRegistered = errors.New("the slot's proposer has not registered")

// duty waits until somebody knows who proposes in a slot, and gives up when the slot begins. It
// waits because a proposer may still register.
func (b *Builder) duty(ctx context.Context, slot phase0.Slot) (client.Duty, error) {
	for {
		duty, err := b.askDuty(ctx, slot)
		if err == nil {
			return duty, nil
		}
		next := b.Clock.Now().Add(b.Spec.SlotDuration / dutyLooks)
		if next.After(b.Spec.SlotStart(slot)) {
			return client.Duty{}, err
		}
		if err := b.Clock.Until(ctx, next); err != nil {
			return client.Duty{}, err
		}
	}
}

// askDuty asks all relays, and takes the word of the first that knows the duty, so that a silent
// one delays nothing. Who bids by the network goes by what proposers have told the network. The
// error of a relay matters only if no other relay knows the duty.
func (b *Builder) askDuty(ctx context.Context, slot phase0.Slot) (client.Duty, error) {
	if b.bidsByNetwork(slot) {
		return b.preferred.duty(slot)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		list []client.Duty
		err  error
	}
	answers := make(chan answer, len(b.Relays))
	for _, relay := range b.Relays {
		go func() { // ends with the answer, or with this call
			list, err := relay.Duties(ctx)
			if err != nil {
				err = fmt.Errorf("fetch duties of %s: %w", relay.URL(), err)
			}
			answers <- answer{list, err}
		}()
	}
	var errs []error
	for range b.Relays {
		got := <-answers
		errs = append(errs, got.err)
		for _, entry := range got.list {
			if entry.Slot == slot {
				return entry, nil
			}
		}
	}
	return client.Duty{}, errors.Join(append(errs, errNotRegistered)...)
}
