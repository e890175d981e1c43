package app

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/bidder"
	"github.com/gavel-relay/gavel/relay/reveal"
	"github.com/gavel-relay/gavel/relay/stakedbid"
)

// newStakedBids returns what takes bids that staked builders have signed themselves; nil if nothing
// does.
func (a *App) newStakedBids() *stakedbid.Taker {
	if !a.bids() || !a.cfg.Gloas.StakedBids {
		return nil
	}
	return stakedbid.New(stakedbid.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Chain: a.registry, Table: new(stakedbid.Table), Builders: a.builders,
		Slots: a.slots, Prover: a.submit, Payloads: a.served, Memory: keptBids{a}, Own: a.cfg.Gloas.Index,
		Counted: a.watched.metrics.stakedBid,
		Arrived: func() { a.revealer.NoteHead(a.registry.Head()) },
	})
}

// The taker as ports, each of which is nil without a taker.
func (a *App) stakedForBuilders() api.StakedBids {
	if a.stakedBids == nil {
		return nil
	}
	return a.stakedBids
}

func (a *App) stakedForBidder() bidder.Signed {
	if a.stakedBids == nil {
		return nil
	}
	return a.stakedBids
}

func (a *App) stakedForRevealer() reveal.Signed {
	if a.stakedBids == nil {
		return nil
	}
	return a.stakedBids
}

// loadBuilders reads the staked builders of the beacon chain, if it is time to. Nobody is asked
// before the epoch that comes before the fork.
func (a *App) loadBuilders(ctx context.Context, epoch phase0.Epoch) {
	if a.stakedBids == nil || epoch+1 < a.gloas().Epoch || !a.stakedBids.Table.IsDue(epoch) {
		return
	}
	builders, finalized, err := a.nodes.Builders(ctx)
	if err != nil {
		a.log.Warn("refresh the staked builders; the old table stays until the next head", "error", err)
		return
	}
	a.stakedBids.Table.Set(epoch, finalized, builders)
}

// keptBids records bids of staked builders, and their signatures of envelopes.
type keptBids struct{ app *App }

// KeepBid implements stakedbid.Memory.
func (k keptBids) KeepBid(ctx context.Context, taken relay.StakedBidTaken) error {
	return k.keep(ctx, taken, taken.Slot)
}

// KeepEnvelope implements stakedbid.Memory.
func (k keptBids) KeepEnvelope(ctx context.Context, signed relay.EnvelopeSigned) error {
	return k.keep(ctx, signed, signed.Slot)
}

func (k keptBids) keep(ctx context.Context, fact relay.Fact, slot phase0.Slot) error {
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	if err := k.app.facts.PutAcked(fact).Wait(ctx); err != nil {
		k.app.log.Error("store what a staked builder has signed", "fact", fact.Subject(), "slot", slot, "error", err)
		return fmt.Errorf("store what a staked builder has signed: %w", err)
	}
	return nil
}

// adoptStakedBid takes up a bid that this process has not taken itself.
func (a *App) adoptStakedBid(data []byte) {
	if a.stakedBids == nil {
		return
	}
	taken, err := decodeFact[relay.StakedBidTaken](data)
	if err == nil {
		err = a.stakedBids.Adopt(taken)
	}
	if err != nil {
		a.log.Error("a staked builder's bid is left out: a block with it is refused here", "slot", taken.Slot, "error", err)
	}
}

// adoptEnvelope takes up a signature that this process was not sent itself.
func (a *App) adoptEnvelope(data []byte) {
	if a.stakedBids == nil {
		return
	}
	signed, err := decodeFact[relay.EnvelopeSigned](data)
	if err == nil {
		err = a.stakedBids.AdoptEnvelope(signed)
	}
	if err != nil {
		a.log.Error("a staked builder's envelope is left out: it is not revealed here", "slot", signed.Slot, "error", err)
	}
}

// leftPayloads listens for payloads that this process has left to their builders.
type leftPayloads struct{ app *App }

// Record implements relay.Facts.
func (l leftPayloads) Record(fact relay.Fact) {
	if left, is := fact.(relay.PayloadLeft); is && l.app.stakedBids != nil {
		l.app.stakedBids.NoteLeft(left)
	}
}

// restoreLeft reads which builders have not signed envelopes lately.
func (a *App) restoreLeft(ctx context.Context) error {
	if a.stakedBids == nil {
		return nil
	}
	return a.journal.PastSince(ctx, time.Now().Add(-leftFor), []string{payloadLeft},
		func(_ time.Time, _ string, data []byte) error {
			a.adoptLeft(data)
			return nil
		})
}

// leftFor is for how long a builder that has not signed an envelope is known over a restart.
const leftFor = 24 * time.Hour

func (a *App) adoptLeft(data []byte) {
	if a.stakedBids == nil {
		return
	}
	left, err := decodeFact[relay.PayloadLeft](data)
	if err != nil {
		a.log.Error("a payload that was left to its builder cannot be read: the builder is believed again", "error", err)
		return
	}
	a.stakedBids.NoteLeft(left)
}
