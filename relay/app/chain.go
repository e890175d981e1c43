package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/beacon"
)

// retryEvery is how long to wait before a beacon node that did not answer is asked again.
const retryEvery = 50 * time.Millisecond

// tellEvery is how often the log says that the relay waits for a beacon node.
const tellEvery = 5 * time.Second

// waitForSpec asks the beacon nodes for the network until one answers.
func (a *App) waitForSpec(ctx context.Context) (*eth.Spec, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StartTimeout)
	defer cancel()
	began := time.Now()
	var logged time.Time
	for {
		spec, err := a.nodes.Spec(ctx)
		if err == nil {
			return spec, nil
		}
		if ctx.Err() == nil && time.Since(logged) >= tellEvery {
			logged = time.Now()
			a.log.Warn("the relay waits for a beacon node: none of --beacon tells its network", "waited",
				time.Since(began).Round(time.Second),
				"start_timeout", a.cfg.StartTimeout, "error", err)
		}
		timer := time.NewTimer(retryEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("no beacon node of --beacon told its network within %s (--start-timeout): %w",
				time.Since(began).Round(time.Millisecond), err)
		case <-timer.C:
		}
	}
}

// dutyWatch remembers what the duties in the registry depend on. Only the goroutine that follows
// the chain uses it.
type dutyWatch struct {
	known             bool
	epoch             phase0.Epoch
	current, previous phase0.Root
}

// loadChain fetches what the relay must know before it can accept a registration or a bid.
func (a *App) loadChain(ctx context.Context) error {
	head, err := a.nodes.Head(ctx)
	if err != nil {
		return fmt.Errorf("fetch head: %w", err)
	}
	a.registry.SetHead(head)
	if err := a.loadValidators(ctx); err != nil {
		return err
	}
	return a.loadDuties(ctx, a.spec.EpochOf(max(head.Slot, a.spec.SlotAt(a.cfg.Clock.Now()))))
}

func (a *App) loadValidators(ctx context.Context) error {
	validators, err := a.nodes.Validators(ctx)
	if err != nil {
		return fmt.Errorf("fetch validators: %w", err)
	}
	if missing := a.registry.SetValidators(validators); missing > 0 {
		a.reportFailure("refresh validators",
			fmt.Errorf("the beacon node's table lacks %d of %d: those stay known until a node tells of all; look whether it "+
				"is synced",
				missing, a.registry.Validators()))
	}
	return nil
}

// loadDuties fetches the duties of an epoch and of the one after it.
func (a *App) loadDuties(ctx context.Context, epoch phase0.Epoch) error {
	for _, e := range []phase0.Epoch{epoch, epoch + 1} {
		duties, dependent, err := a.nodes.Duties(ctx, e)
		if err != nil {
			return fmt.Errorf("fetch duties of epoch %d: %w", e, err)
		}
		a.registry.SetDuties(e, dependent, duties)
	}
	return nil
}

// A beacon node that announces no head for silentSlots counts as stuck, because so many slots are
// hardly ever missed in a row. On test networks slots may be shorter than ordinary delays, so
// shortestSilence (wall time) is the least.
const (
	silentSlots     = 8
	shortestSilence = time.Minute
)

// followChain keeps the registry at the chain's head until the context ends. Events only fill a
// queue, so that a slow fetch of duties does not hold up the next event. The queue holds one head:
// a newer one replaces the one that waits.
func (a *App) followChain(ctx context.Context) error {
	heads := make(chan relay.Head, 1)
	go a.handleHeads(ctx, heads)
	events := beacon.Events{
		Head: func(head relay.Head) {
			a.registry.SetHead(head)
			if a.revealer != nil {
				a.revealer.NoteHead(head)
				a.resumeElsewhere(ctx, head.Slot)
			}
			select {
			case <-heads: // the one that waits is outdated
			default:
			}
			heads <- head
		},
		Attributes: a.registry.SetAttributes,
		Silence:    max(silentSlots*a.spec.SlotDuration, shortestSilence),
		Stuck:      func(node string, err error) { a.reportFailure("follow the beacon node "+node, err) },
	}
	if a.bidder != nil {
		events.Preferences, events.Block, events.Lacks = a.takePreferences, a.revealer.NoteBlock, a.noteEvents
	}
	return a.nodes.Follow(ctx, events)
}

func (a *App) handleHeads(ctx context.Context, heads <-chan relay.Head) {
	for {
		select {
		case <-ctx.Done():
			return
		case head := <-heads:
			a.handleHead(ctx, head)
		}
	}
}

// keepSlots is how many slots past auctions are remembered, so that a repeated blinded block of the
// last slot still finds its publication.
const keepSlots = 2

// forget drops the payloads of a slot that is over from the escrow, unless one is still to be
// executed. Payloads of slots without a head expire by their age.
func (a *App) forget(ctx context.Context, slot phase0.Slot) {
	if a.submit.Needs(slot) {
		return
	}
	if err := a.journal.Drop(ctx, strconv.FormatUint(uint64(slot), 10)); err != nil && ctx.Err() == nil {
		a.log.Warn("payloads stay in the escrow until they are too old", "slot", slot, "error", err)
	}
}

func (a *App) handleHead(ctx context.Context, head relay.Head) {
	a.topBid.RecordRepeats()
	a.checkBuilder(ctx, a.spec.EpochOf(head.Slot+1))
	a.loadBuilders(ctx, a.spec.EpochOf(head.Slot+1))
	if head.Slot > keepSlots {
		a.submit.Close(head.Slot - keepSlots)
		a.topBid.Clear(head.Slot - keepSlots)
		a.deliver.Close(head.Slot - keepSlots)
		if a.bidder != nil {
			a.bidder.Close(head.Slot - keepSlots)
			a.revealer.Close(head.Slot - keepSlots)
		}
		if a.stakedBids != nil { // after revealer.Close, which asks it for envelopes
			a.stakedBids.Close(head.Slot - keepSlots)
		}
		a.served.Close(head.Slot - keepSlots)
		a.slots.Close(head.Slot - keepSlots) // after submit.Close, which reads there what was delivered
		a.forget(ctx, head.Slot-keepSlots-1)
	}
	epoch := a.spec.EpochOf(head.Slot)
	now := dutyWatch{known: true, epoch: epoch, current: head.CurrentDependent, previous: head.PreviousDependent}
	if now == a.duties {
		return
	}
	if epoch != a.duties.epoch {
		if err := a.loadValidators(ctx); err != nil {
			a.log.Warn("refresh validators; the old table stays", "error", err)
		}
	}
	if err := a.loadDuties(ctx, epoch); err != nil {
		a.log.Warn("refresh duties; the old ones stay until the next head", "error", err)
		return
	}
	a.duties = now
}
