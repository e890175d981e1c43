// Package proposer runs validators. They register, ask for a header when their slot begins, sign it
// without seeing the block, and submit the signed block to their sidecar. Without a better bid they
// publish the block that their own beacon node has built.
//
//	slot starts ─▶ local block ─▶ breaker open? ─yes─▶ sign the local block
//	                                │no
//	                              header? ──none, worse, wrong──▶ sign the local block ─▶ beacon node
//	                                └──better──▶ blind (blind.go) ─▶ sign ─▶ sidecar ─▶ relays publish
//
// From gloas on (gloas.go) the beacon node asks relays, by requests that validators have signed:
//
//	slot starts ─▶ block with the best bid ─▶ sign ─▶ beacon node ─▶ relay, which reveals the payload
//	                └─ own payload: sign the envelope too ─▶ beacon node
//
// A validator signs only one block in a slot (guard.go): once it has signed a blinded block, it
// cannot go back to the local one.
package proposer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// Sidecar stands between a proposer and relays: the Aggregator of this package, or a real
// mev-boost.
type Sidecar interface {
	// Register passes registrations on; an error means that no relay accepted all of them.
	Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error
	// Header returns the best bid, checked; nil without an error if there is none.
	Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32, proposer phase0.BLSPubKey) (*Bid, error)
	// Submit has the block published; nil means that a relay has published it.
	Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error
}

// Config says which validators there are, and how they propose.
type Config struct {
	Keys         map[phase0.ValidatorIndex]*bls.SecretKey
	FeeRecipient func(phase0.ValidatorIndex) bellatrix.ExecutionAddress
	GasLimit     uint64
	Spec         *eth.Spec
	Clock        clock.Clock
	BeaconURL    string
	Sidecar      Sidecar
	// BuilderBoostFactor weighs a bid against the local block, in percent (beacon-APIs,
	// builder_boost_factor): a bid is taken if its value times the factor is more than the local
	// block's value. 0 means 100; PreferBuilder takes any bid.
	BuilderBoostFactor uint64
	// HeaderTimeout bounds the wait for a header and SubmitTimeout the wait for a publication, in
	// wall time. Defaults: 950 ms and 4 s.
	HeaderTimeout, SubmitTimeout time.Duration
	// Breaker are the circuit breaker's limits; the zero value has no breaker. BreakerOpened, if
	// set, is called with the first slot in which relays are not asked.
	Breaker       devnet.BreakerLimits
	BreakerOpened func(phase0.Slot)
	// Gloas is what validators do from gloas on, where their beacon node asks for bids.
	Gloas Gloas
	Log   *slog.Logger
}

// PreferBuilder is the boost factor that takes any bid, whatever the local block is worth.
const PreferBuilder = math.MaxUint64

// Proposer runs its validators.
type Proposer struct {
	Config
	beacon  *beaconNode
	guard   guard
	circuit circuit
	// duties, epoch and known belong to the goroutine of Run: the proposers of an epoch by slot,
	// once known is true.
	duties map[phase0.Slot]phase0.ValidatorIndex
	epoch  phase0.Epoch
	known  bool
	// preferred belongs to the goroutine of keepRegistered: the roots that the duties depended on
	// when preferences were told, by epoch.
	preferred map[phase0.Epoch]phase0.Root
}

// New returns a proposer that does nothing until Run.
func New(cfg Config) *Proposer {
	if cfg.HeaderTimeout == 0 {
		cfg.HeaderTimeout = 950 * time.Millisecond
	}
	if cfg.BuilderBoostFactor == 0 {
		cfg.BuilderBoostFactor = 100
	}
	if cfg.SubmitTimeout == 0 {
		cfg.SubmitTimeout = 4 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Proposer{Config: cfg, beacon: &beaconNode{base: cfg.BeaconURL},
		circuit: circuit{breaker: newBreaker(cfg.Breaker)}}
}

// Run proposes until the context ends, and then returns nil. It begins with the slot after the
// present one. A slow relay does not delay the next slot, because registering and each proposal
// have goroutines of their own. Slots that have passed are skipped.
func (p *Proposer) Run(ctx context.Context) error {
	// A registration must not be older than the chain.
	if p.Clock.Until(ctx, p.Spec.GenesisTime) != nil {
		return nil
	}
	var working sync.WaitGroup
	defer working.Wait()
	running := p.Spec.SlotAt(p.Clock.Now())
	working.Go(func() { p.keepRegistered(ctx, running) })
	for slot := running + 1; ; slot++ {
		if p.Clock.Until(ctx, p.Spec.SlotStart(slot)) != nil {
			return nil
		}
		if now := p.Spec.SlotAt(p.Clock.Now()); now > slot {
			p.Log.Warn("slots passed by", "from", slot, "to", now-1)
			slot = now
		}
		p.propose(ctx, &working, slot)
	}
}

// propose begins the proposal of a slot, if one of our validators is its proposer.
func (p *Proposer) propose(ctx context.Context, working *sync.WaitGroup, slot phase0.Slot) {
	index, ours, err := p.duty(ctx, slot)
	if err != nil && ctx.Err() == nil {
		p.Log.Warn("duty unknown", "slot", slot, "error", err)
	}
	if err != nil || !ours {
		return
	}
	working.Go(func() {
		if err := p.proposal(ctx, slot, index); err != nil && ctx.Err() == nil {
			p.Log.Warn("proposal failed", "slot", slot, "error", err)
		}
	})
}

// duty says whether one of our validators proposes in a slot.
func (p *Proposer) duty(ctx context.Context, slot phase0.Slot) (phase0.ValidatorIndex, bool, error) {
	if epoch := p.Spec.EpochOf(slot); !p.known || p.epoch != epoch {
		duties, err := p.beacon.duties(ctx, epoch)
		if err != nil {
			return 0, false, fmt.Errorf("fetch duties of epoch %d: %w", epoch, err)
		}
		p.duties, p.epoch, p.known = duties, epoch, true
	}
	index, ok := p.duties[slot]
	_, ours := p.Keys[index]
	return index, ok && ours, nil
}

// proposal proposes the slot's block: a blinded one if a bid beats the local block. The local block
// is fetched first, because it tells on which parent the beacon node builds, and relays are asked
// for a bid on that parent.
func (p *Proposer) proposal(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex) error {
	if !p.Spec.ForkAt(slot).HasBlindedBlocks() {
		return p.proposalWithBid(ctx, slot, index)
	}
	key, epoch := p.Keys[index], p.Spec.EpochOf(slot)
	reveal := key.Sign(eth.SigningRoot(epochRoot(epoch), p.Spec.RandaoDomain(epoch)))
	local, err := p.beacon.localBlock(ctx, slot, reveal)
	if err != nil {
		return fmt.Errorf("fetch local block: %w", err)
	}
	if bid := p.header(ctx, slot, local, key.PublicKey()); bid != nil {
		blinded, err := blindBlock(local, bid)
		if err == nil {
			return p.submit(ctx, slot, index, blinded)
		}
		p.Log.Warn("bid cannot be used; the local block is proposed", "slot", slot, "error", err)
	}
	return p.publish(ctx, slot, index, local)
}

// header returns a bid that is worth more than the local block, or nil if there is none.
func (p *Proposer) header(ctx context.Context, slot phase0.Slot, local *localBlock, pubkey phase0.BLSPubKey) *Bid {
	ctx, cancel := context.WithTimeout(ctx, p.HeaderTimeout)
	defer cancel()
	if p.broken(ctx, slot) {
		p.Log.Info("the circuit breaker is open; the local block is proposed", "slot", slot)
		return nil
	}
	bid, err := p.Sidecar.Header(ctx, slot, local.parentHash, pubkey)
	switch {
	case err != nil:
		p.Log.Warn("no header; the local block is proposed", "slot", slot, "error", err)
		return nil
	case bid == nil:
		p.Log.Info("no bid; the local block is proposed", "slot", slot)
		return nil
	case !beats(bid.ValueWei, local.valueWei, p.BuilderBoostFactor):
		p.Log.Info("the local block is worth more", "slot", slot, "bid", bid.ValueWei, "local", local.valueWei)
		return nil
	}
	return bid
}

// beats says whether a bid's boosted value is more than the local block's value.
func beats(bid, local *uint256.Int, boostFactor uint64) bool {
	if boostFactor == PreferBuilder {
		return true
	}
	boosted, overflow := new(uint256.Int).MulOverflow(bid, uint256.NewInt(boostFactor))
	if overflow {
		return true
	}
	return boosted.Div(boosted, uint256.NewInt(100)).Gt(local)
}

// publish signs the local block and has the beacon node publish it.
func (p *Proposer) publish(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex,
	local *localBlock) error {
	signature, err := p.sign(slot, index, local.root)
	if err != nil {
		return fmt.Errorf("sign local block: %w", err)
	}
	contents, err := local.signed(signature)
	if err != nil {
		return fmt.Errorf("encode local block: %w", err)
	}
	if err := p.beacon.publish(ctx, local.fork, contents); err != nil {
		return fmt.Errorf("publish local block: %w", err)
	}
	return nil
}

// submit signs a blinded block and has the sidecar publish it. If that fails, the validator cannot
// sign another block of the slot.
func (p *Proposer) submit(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex,
	blinded *blindedBlock) error {
	signature, err := p.sign(slot, index, blinded.root)
	if err != nil {
		return fmt.Errorf("sign blinded block: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.SubmitTimeout)
	defer cancel()
	signed, err := blinded.signed(signature)
	if err != nil {
		return err
	}
	if err := p.Sidecar.Submit(ctx, signed); err != nil {
		return fmt.Errorf("submit blinded block: %w", err)
	}
	return nil
}

// sign asks the guard and signs. It is the only function that signs blocks.
func (p *Proposer) sign(slot phase0.Slot, index phase0.ValidatorIndex, root phase0.Root) (phase0.BLSSignature, error) {
	if err := p.guard.take(index, slot); err != nil {
		return phase0.BLSSignature{}, err
	}
	return p.Keys[index].Sign(eth.SigningRoot(root, p.Spec.ProposerDomain(slot))), nil
}

// epochRoot returns what a RANDAO reveal signs: the hash tree root of the epoch.
func epochRoot(epoch phase0.Epoch) (root phase0.Root) {
	for i := range 8 {
		root[i] = byte(epoch >> (8 * i))
	}
	return root
}
