package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/bid"
	"github.com/gavel-relay/gavel/relay/bidder"
	"github.com/gavel-relay/gavel/relay/reveal"
)

// staked is what is known of the relay's staked builder, and of the beacon nodes that lack events
// of gloas. Its zero value is a builder of which nothing is known.
type staked struct {
	mu      sync.Mutex // guards what follows
	known   bool
	epoch   phase0.Epoch        // in which it was looked up
	fault   error               // why it may not bid; nil if it may
	balance phase0.Gwei         // its stake
	without map[string]struct{} // nodes that lack events of gloas
}

// errNotAsked means that no beacon node has been asked for the builder.
var errNotAsked = errors.New("no beacon node has told of the staked builder yet")

// Fault returns why the builder may not bid; nil if it may.
func (s *staked) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.fault
	if !s.known {
		fault = errNotAsked
	}
	for _, node := range slices.Sorted(maps.Keys(s.without)) {
		fault = errors.Join(fault, fmt.Errorf("the beacon node %s lacks events of gloas", node))
	}
	return fault
}

// mayBid says whether the builder may bid. Missing events do not matter: without preferences there
// is no bid anyway.
func (s *staked) mayBid() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known && s.fault == nil
}

func (s *staked) set(epoch phase0.Epoch, balance phase0.Gwei, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.epoch, s.balance, s.fault = true, epoch, balance, fault
}

// covers returns the highest value of a bid that the stake covers.
func (s *staked) covers(slotsPerEpoch uint64) phase0.Gwei {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bid.Covered(s.balance, slotsPerEpoch)
}

// isCurrent says whether the builder was found fit in an epoch: what is wrong is looked up again
// with the next head.
func (s *staked) isCurrent(epoch phase0.Epoch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known && s.epoch == epoch && s.fault == nil
}

// noteEvents notes whether a node has the events of gloas.
func (s *staked) noteEvents(node string, has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if has {
		delete(s.without, node)
		return
	}
	if s.without == nil {
		s.without = map[string]struct{}{}
	}
	s.without[node] = struct{}{}
}

// reading is 1 if the builder may bid, 0 if not, and -1 if nobody has asked yet.
func (s *staked) reading() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return -1
	}
	return one(s.fault == nil)
}

// bids says whether the relay has a staked builder and the network a fork in which it can bid.
func (a *App) bids() bool { return a.cfg.Gloas != nil && a.gloas() != nil }

// gloas returns the point from which on bids stand in blocks; nil if none is scheduled.
func (a *App) gloas() *eth.ForkPoint {
	for _, point := range a.spec.Forks {
		if !point.Fork.HasBlindedBlocks() {
			return &point
		}
	}
	return nil
}

// newBidder returns what bids for the relay; nil if nothing does.
func (a *App) newBidder() *bidder.Bidder {
	if !a.bids() {
		return nil
	}
	return bidder.New(bidder.Config{
		Spec: a.spec, Chain: a.registry, Auctions: a.submit, Signed: a.stakedForBidder(), Served: bidsServed{a},
		Caps: keptCaps{a}, Counted: a.watched.metrics.bidAsked,
		Index: a.cfg.Gloas.Index, Key: a.cfg.Gloas.Key, AuthData: a.cfg.Gloas.AuthData,
		Active: a.staked.mayBid, Stake: a.stake, Stopped: a.isStopped, CutOff: a.cfg.HeaderCutOff,
	})
}

// stake is what the relay's builder pays of a bid from its stake.
func (a *App) stake() bid.Stake {
	return bid.Stake{SharePercent: a.cfg.Gloas.SharePercent, Most: a.staked.covers(a.spec.SlotsPerEpoch)}
}

// newRevealer returns what reveals the payloads that were sold; nil if nothing is.
func (a *App) newRevealer() *reveal.Revealer {
	if a.bidder == nil {
		return nil
	}
	return reveal.New(reveal.Config{
		Spec: a.spec, Clock: a.cfg.Clock, Chain: a.registry, Bids: a.bidder, Signed: a.stakedForRevealer(),
		Payloads: a.served, Slots: a.slots,
		Guard: suspectedGuard{newGuard(a.journal, a.spec), a.probe}, Kept: soldBlocks{a.journal},
		Envelopes: suspectedGuard{envelopeGuard{a.journal, networkName(a.spec)}, a.probe},
		Publisher: a.nodes, Facts: a.facts, Log: a.log,
		Key: a.cfg.Gloas.Key, PublishTimeout: a.cfg.PublishTimeout, StoreTimeout: guardTimeout,
	})
}

// guardTimeout bounds a call to escrow or guard while a block waits for its payload.
const guardTimeout = 2 * time.Second

// toReveal returns the revealer as a port, which is nil without a revealer.
func (a *App) toReveal() api.Revealer {
	if a.revealer == nil {
		return nil
	}
	return a.revealer
}

// missedSlots is for how many slots a relay that starts looks for payloads that were not revealed.
// The escrow keeps proposers' blocks no longer.
const missedSlots = 2

// resumeSales reveals what a process that has ended has sold, if there is time, and records what it
// has not.
func (a *App) resumeSales(ctx context.Context) error {
	if a.revealer == nil {
		return nil
	}
	now := a.spec.SlotAt(a.cfg.Clock.Now())
	a.resume(ctx, now)
	for slot := now - min(now, missedSlots); slot <= now; slot++ {
		if err := a.revealer.NoteMissed(ctx, slot); err != nil {
			a.log.Error("what was sold in gloas and not revealed is not recorded", "slot", slot, "error", err)
		}
	}
	return nil
}

// resumeElsewhere reveals what another instance has sold, if that does not within takeOverPause
// after the block is the head. It does not wait.
func (a *App) resumeElsewhere(ctx context.Context, slot phase0.Slot) {
	if a.revealer == nil || a.others == nil {
		return
	}
	go func() {
		if a.cfg.Clock.Until(ctx, a.cfg.Clock.Now().Add(takeOverPause)) == nil && !a.others.hasSold(slot) {
			a.resume(ctx, slot)
		}
	}()
}

// takeOverPause is how long the instance that has taken a block has to reveal its payload before
// others do (chain time): it may have died. What two of them send is the same envelope.
const takeOverPause = time.Second

func (a *App) resume(ctx context.Context, slot phase0.Slot) {
	if err := a.revealer.Resume(ctx, slot); err != nil {
		a.log.Error("what was sold in gloas is not revealed by this process", "slot", slot, "error", err)
	}
}

// forProposers returns the bidder as a port, which is nil without a bidder.
func (a *App) forProposers() api.Bidder {
	if a.bidder == nil {
		return nil
	}
	return a.bidder
}

// bidsServed notes bids that proposers were given as headers that were served: their payloads stay
// in memory, and who delivers knows what was promised.
type bidsServed struct{ app *App }

// RecordHeader implements bidder.Served.
func (b bidsServed) RecordHeader(served relay.HeaderServed) {
	b.app.topBid.NoteServed(served)
	servedHeaders{b.app.facts, b.app.served}.RecordHeader(served)
}

// checkBuilder asks a beacon node once in an epoch whether the relay's builder may bid, and at each
// head while it may not. Nobody is asked before the epoch that comes before the fork.
func (a *App) checkBuilder(ctx context.Context, epoch phase0.Epoch) {
	if a.bidder == nil || epoch+1 < a.gloas().Epoch || a.staked.isCurrent(epoch) {
		return
	}
	balance, fault := a.nodes.CheckBuilder(ctx, a.cfg.Gloas.Index, a.cfg.Gloas.Key.PublicKey())
	if ctx.Err() != nil {
		return
	}
	a.staked.set(epoch, balance, fault)
	if fault != nil {
		a.log.Warn("the relay cannot bid in gloas", "builder", a.cfg.Gloas.Index, "error", fault)
	}
}

// takePreferences keeps what a proposer asks for, also over a restart: no beacon node tells of it
// again.
func (a *App) takePreferences(signed *gloas.SignedProposerPreferences) {
	isNew, err := a.registry.SetPreferences(signed)
	switch {
	case err != nil:
		a.log.Warn("a proposer's preferences are not kept", "error", err)
		return
	case !isNew:
		return
	}
	raw, err := gloas.Mainnet.SignedProposerPreferences.ToJSON(signed)
	if err != nil {
		a.log.Error("a proposer's preferences are lost with a restart", "error", err)
		return
	}
	a.facts.Record(relay.PreferencesStored{At: a.cfg.Clock.Now(), Preferences: raw})
}

// restoreWishes reads what proposers of slots that are not over have asked for, and what staked
// builders have bid for them.
func (a *App) restoreWishes(ctx context.Context) error {
	if a.bidder == nil {
		return nil
	}
	if err := a.restoreLeft(ctx); err != nil {
		return err
	}
	known := 3 * time.Duration(a.spec.SlotsPerEpoch) * a.spec.SlotDuration // two epochs ahead, and the one that runs
	subjects := []string{paymentCapped, preferencesStored, stakedBidTaken, envelopeSigned}
	return a.journal.PastSince(ctx, time.Now().Add(-known), subjects,
		func(_ time.Time, subject string, data []byte) error {
			switch subject {
			case paymentCapped:
				a.adoptCap(data)
			case preferencesStored:
				a.restorePreferences(data)
			case stakedBidTaken:
				a.adoptStakedBid(data)
			default:
				a.adoptEnvelope(data)
			}
			return nil
		})
}

// adoptCap takes a cap that this process has not been told itself.
func (a *App) adoptCap(data []byte) {
	if a.bidder == nil {
		return
	}
	capped, err := decodeFact[relay.PaymentCapped](data)
	if err != nil {
		a.log.Error("what a proposer counts cannot be read: the relay may bid more within the payload", "error", err)
		return
	}
	if capped.Slot >= a.registry.Head().Slot {
		a.bidder.Adopt(capped)
	}
}

func (a *App) restorePreferences(data []byte) {
	stored, err := decodeFact[relay.PreferencesStored](data)
	if err == nil {
		var signed *gloas.SignedProposerPreferences
		if signed, err = gloas.Mainnet.SignedProposerPreferences.FromJSON(stored.Preferences); err == nil &&
			signed.Message.ProposalSlot > a.registry.Head().Slot {
			_, err = a.registry.SetPreferences(signed)
		}
	}
	if err != nil {
		a.log.Warn("a proposer's preferences are left out: there is no bid for it unless it states them again", "error", err)
	}
}

// keptCaps records caps.
type keptCaps struct{ app *App }

// Keep implements bidder.Caps.
func (k keptCaps) Keep(ctx context.Context, capped relay.PaymentCapped) error {
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	if err := k.app.facts.PutAcked(capped).Wait(ctx); err != nil {
		k.app.log.Error("store what a proposer counts", "slot", capped.Slot, "error", err)
		return fmt.Errorf("store what a proposer counts: %w", err)
	}
	return nil
}

// noteEvents tells the operator of a node that has no events of gloas, until it has them: no bid is
// made of what it alone would have told.
func (a *App) noteEvents(node string, err error) {
	a.staked.noteEvents(node, err == nil)
	if err != nil {
		a.log.Warn("a beacon node lacks events of gloas", "node", node, "error", err)
	}
}
