// Package reveal delivers payloads from gloas on: a proposer sends its signed block, which has a
// bid of the relay, and the relay reveals the payload in an envelope.
//
//	signed block ─▶ our bid? ─▶ proposer? ─▶ late? ─▶ payload here? ─▶ second block? ─▶ guard ─▶ publish ─▶ 202
//	                400         400          400      400/503          400              400/503   400
//	head of a beacon node, or published ─▶ bid.Sale ─▶ envelope with blobs ─▶ beacon nodes ─▶ fact
//
// The envelope leaves the relay once, after the beacon nodes have the block as their head,
// before the payload's deadline, and never for a proposer of whom two blocks of the slot were
// seen.
package reveal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
	"github.com/gavel-relay/gavel/relay/slots"
)

// Chain says who proposes, and what the head is. Calls never block.
type Chain interface {
	Head() relay.Head
	Duty(slot phase0.Slot) *relay.RegisteredDuty
}

// Bids knows the bids that the relay has signed. It never blocks.
type Bids interface {
	// Sold returns the builder whose block a bid is for; false if the relay has not signed the bid.
	Sold(signed *gloas.SignedExecutionPayloadBid) (phase0.BLSPubKey, bool)
}

// Guard lets one block of each slot pass. Its memory outlives the process.
type Guard interface {
	Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error)
}

// Publisher hands blocks and envelopes to the beacon nodes: nil says that one has taken it.
type Publisher interface {
	Publish(ctx context.Context, fork eth.Fork, root phase0.Root, ssz []byte) error
	PublishEnvelope(ctx context.Context, ssz []byte) error
}

// Config are the parts of a Revealer. All are needed.
type Config struct {
	Spec      *eth.Spec
	Clock     clock.Clock
	Chain     Chain
	Bids      Bids
	Payloads  relay.Escrow
	Slots     *slots.Slots
	Guard     Guard
	Publisher Publisher
	Facts     relay.Facts
	Log       *slog.Logger
	// Key is that of the relay's staked builder.
	Key *bls.SecretKey
	// PublishTimeout bounds a publication, StoreTimeout a call to escrow or guard; in wall time.
	PublishTimeout, StoreTimeout time.Duration
}

// Revealer reveals payloads. It is safe for concurrent use.
type Revealer struct {
	Config

	mu    sync.Mutex // guards what follows
	sales map[phase0.Slot]*sale
}

// sale is a slot in which a block with a bid of the relay was seen.
type sale struct {
	bid.Sale
	block    *gloas.SignedBeaconBlock
	root     phase0.Root
	at       time.Time // when the block came
	contents *relay.Contents
	done     chan struct{} // closed when refused is final
	refused  *relay.Refused
	taken    bool // a beacon node has the block
}

// New returns a Revealer that has revealed nothing.
func New(cfg Config) *Revealer { return &Revealer{Config: cfg, sales: map[phase0.Slot]*sale{}} }

// payloadDue is the part of the slot after which the committee looks for the payload
// (consensus-specs, specs/gloas: 5,000 basis points).
const payloadDue = 2

func (r *Revealer) deadline(slot phase0.Slot) time.Time {
	return r.Spec.SlotStart(slot).Add(r.Spec.SlotDuration / payloadDue)
}

// Deliver publishes a proposer's block that has a bid of the relay. It returns nil as soon as a
// beacon node has taken the block; the envelope follows. The same block again has the same
// answer. Errors are *relay.Refused.
func (r *Revealer) Deliver(ctx context.Context, at time.Time, block *gloas.SignedBeaconBlock) error {
	root, err := gloas.Mainnet.BeaconBlock.Root(block.Message)
	if err != nil {
		return relay.Malformed.With("hash block: %v", err)
	}
	builder, refused := r.check(at, block, root)
	if refused != nil {
		return refused
	}
	slot := block.Message.Slot
	message := block.Message.Body.SignedExecutionPayloadBid.Message
	reading, cancel := context.WithTimeout(ctx, r.StoreTimeout)
	defer cancel()
	contents, err := r.Payloads.Get(reading, relay.PayloadID{Slot: slot, BlockHash: message.BlockHash, Builder: builder})
	switch {
	case err != nil:
		r.Log.Error("read escrow", "slot", slot, "error", err)
		return relay.PayloadEscrowDown.Plain()
	case contents == nil:
		return relay.PayloadUnknown.Plain()
	}
	s, first := r.enter(slot, &sale{block: block, root: root, at: at, contents: contents, done: make(chan struct{})})
	if s.root != root {
		return relay.PayloadOther.With("slot %d", slot)
	}
	if first {
		go r.publish(context.WithoutCancel(ctx), s) // also if the proposer goes away: the guard is claimed
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
	}
	if s.refused != nil {
		return s.refused
	}
	return nil
}

// check requires a bid that the relay has signed, the slot's proposer and its signature, and that
// there is time to reveal the payload. It returns the builder whose block was sold.
func (r *Revealer) check(at time.Time, block *gloas.SignedBeaconBlock, root phase0.Root) (phase0.BLSPubKey,
	*relay.Refused) {
	slot := block.Message.Slot
	offered := block.Message.Body.SignedExecutionPayloadBid
	builder, ours := r.Bids.Sold(offered)
	if !ours || offered.Message.Slot != slot || offered.Message.ParentBlockRoot != block.Message.ParentRoot {
		return builder, relay.PayloadUnknown.With("the block has no bid of this relay")
	}
	duty := r.Chain.Duty(slot)
	if duty == nil || duty.Index != block.Message.ProposerIndex {
		return builder, relay.PayloadUnknownProposer.With("got %d", block.Message.ProposerIndex)
	}
	signed := eth.SigningRoot(root, r.Spec.ProposerDomain(slot))
	if err := bls.Verify(duty.Proposer, signed, block.Signature); err != nil {
		return builder, relay.PayloadSignature.With("%v", err)
	}
	if !at.Before(r.deadline(slot)) {
		return builder, relay.PayloadTooLate.With("%d ms into the slot", at.Sub(r.Spec.SlotStart(slot)).Milliseconds())
	}
	return builder, nil
}

// enter notes a block of a slot's proposer with a bid of the relay. It returns the sale of the
// slot, and whether it is a new one.
func (r *Revealer) enter(slot phase0.Slot, made *sale) (*sale, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, first := r.sales[slot], false
	if known == nil {
		known, first = made, true
		r.sales[slot] = made
	}
	known.Sale = known.Seen(made.root, true)
	return known, first
}

// publish claims the slot and publishes the block. It begins to reveal when a node has taken it.
func (r *Revealer) publish(ctx context.Context, s *sale) {
	s.refused = r.publishBlock(ctx, s)
	close(s.done)
	if s.refused != nil {
		return
	}
	r.mu.Lock()
	s.taken = true
	r.mu.Unlock()
	r.Seen(r.Chain.Head())
}

func (r *Revealer) publishBlock(ctx context.Context, s *sale) *relay.Refused {
	slot := s.block.Message.Slot
	claiming, cancel := context.WithTimeout(ctx, r.StoreTimeout)
	defer cancel()
	switch won, err := r.Guard.Claim(claiming, slot, s.root); {
	case err != nil:
		r.Log.Error("claim slot", "slot", slot, "error", err)
		return relay.PayloadGuardDown.Plain()
	case !won:
		return relay.PayloadOther.With("slot %d", slot)
	}
	r.Slots.MarkDelivered(slot, s.contents.Payload.BlockHash) // nothing more is sold for the slot
	ssz, err := gloas.Mainnet.SignedBeaconBlock.Encode(s.block)
	if err != nil {
		return relay.Malformed.With("encode block: %v", err)
	}
	publishing, stop := context.WithTimeout(ctx, r.PublishTimeout)
	defer stop()
	if err := r.Publisher.Publish(publishing, s.contents.Fork, s.root, ssz); err != nil {
		r.Log.Error("publish block", "slot", slot, "error", err)
		return relay.PayloadNotPublished.Plain()
	}
	return nil
}

// Close forgets the sales of slots before the given one.
func (r *Revealer) Close(before phase0.Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot := range r.sales {
		if slot < before {
			delete(r.sales, slot)
		}
	}
}
