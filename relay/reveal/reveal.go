// Package reveal delivers payloads from gloas on: a proposer sends its signed block, which has a
// bid of the relay, and the relay reveals the payload in an envelope.
//
//	signed block ─▶ our bid? ─▶ proposer? ─▶ late? ─▶ payload here? ─▶ second block? ─▶ kept ─▶ guard ─▶ publish ─▶ 202
//	                400         400          400      400/503          400              503     400/503   400
//	head of a beacon node, or published ─▶ bid.Sale ─▶ guard ─▶ envelope with blobs ─▶ beacon nodes ─▶ fact
//
// The envelope leaves the relay after the beacon nodes have the block as their head, before the
// payload's deadline, and never for a proposer of whom two blocks of the slot were seen.
//
// A bid may be one that a staked builder has signed itself (relay/stakedbid). Then the block is
// published all the same. The payload is left to the builder if it came without one; otherwise its
// envelope is revealed as that of an own bid, once the builder has signed it.
//
// Nothing of a sale is in memory alone. That the relay has sold a bid is shown by its signature,
// the payload is in the escrow before the bid is signed, and the proposer's block is kept before
// the guard is won. So Resume takes up what another process has begun: the one before this one, or
// another instance. The guard decides for all of them which block is published, and whether its
// payload is revealed or the proposer has signed two.
package reveal

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
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
	// Sold says whether a bid has a valid signature of the relay's builder.
	Sold(signed *gloas.SignedExecutionPayloadBid) bool
}

// Signed knows the bids that the relay has taken of staked builders who sign themselves. It never
// blocks.
type Signed interface {
	// Sold returns a bid as it was taken; nil for one that was not.
	Sold(signed *gloas.SignedExecutionPayloadBid) *bid.Signed
	// MarkSold notes that a block with the bid was published.
	MarkSold(s *bid.Signed)
	// Envelope returns the builder's signature of the bid's envelope in a block; false if it is not
	// here.
	Envelope(s *bid.Signed, block phase0.Root) (phase0.BLSSignature, bool)
}

// Payloads has the payloads of bids.
type Payloads interface {
	// Find returns a payload of a block hash that fits; nil if there is none.
	Find(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32,
		fits func(*relay.Contents) bool) (*relay.Contents, error)
}

// Guard lets one value of each slot pass. Its memory outlives the process, and is that of all
// instances.
type Guard interface {
	// Claim says whether the value is that of the slot: nobody has claimed another one before.
	Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error)
}

// Kept has blocks with bids of the relay until their slots are over. Its memory outlives the
// process, and is that of all instances.
type Kept interface {
	Keep(ctx context.Context, slot phase0.Slot, root phase0.Root, ssz []byte) error
	// Blocks returns the blocks of a slot, in SSZ and no order.
	Blocks(ctx context.Context, slot phase0.Slot) ([][]byte, error)
}

// Publisher hands blocks and envelopes to the beacon nodes: nil says that one has taken it.
type Publisher interface {
	Publish(ctx context.Context, fork eth.Fork, root phase0.Root, ssz []byte) error
	PublishEnvelope(ctx context.Context, ssz []byte) error
}

// Config are the parts of a Revealer. All but Signed are needed.
type Config struct {
	Spec     *eth.Spec
	Clock    clock.Clock
	Chain    Chain
	Bids     Bids
	Signed   Signed // nil if none are taken
	Payloads Payloads
	Slots    *slots.Slots
	Kept     Kept
	// Guard decides which block of a slot is published, and Envelopes whether its payload is
	// revealed: the block's root, or zero if the proposer has signed two blocks.
	Guard, Envelopes Guard
	Publisher        Publisher
	Facts            relay.Facts
	Log              *slog.Logger
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
	// seen has the blocks of slots without a sale: a proposer may sign another block before it sends
	// the one that has a bid of the relay.
	seen map[phase0.Slot]bid.Sale
}

// sale is a slot in which a block with a bid of the relay was seen.
type sale struct {
	bid.Sale
	block    *gloas.SignedBeaconBlock
	root     phase0.Root
	at       time.Time       // when the block came
	signed   *bid.Signed     // the bid, if a staked builder has signed it; nil for one of the relay's own
	contents *relay.Contents // nil for a signed bid that came without its payload
	done     chan struct{}   // closed when refused is final
	refused  *relay.Refused
	taken    bool // a beacon node has the block
	withheld bool // a fact says that the payload is not revealed here
	awaited  bool // only the builder's signature of the envelope was missing, while there was time
}

// bid is the bid in the block.
func (s *sale) bid() *gloas.ExecutionPayloadBid {
	return s.block.Message.Body.SignedExecutionPayloadBid.Message
}

// builder is the key of who has made the payload.
func (s *sale) builder() phase0.BLSPubKey {
	if s.signed != nil {
		return s.signed.Builder
	}
	return s.contents.Trace.BuilderPubkey
}

// New returns a Revealer that has revealed nothing.
func New(cfg Config) *Revealer {
	return &Revealer{Config: cfg, sales: map[phase0.Slot]*sale{}, seen: map[phase0.Slot]bid.Sale{}}
}

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
	if refused := r.check(at, block, root); refused != nil {
		return refused
	}
	slot, made := block.Message.Slot, &sale{block: block, root: root, at: at, done: make(chan struct{})}
	if made.signed = r.findSigned(block); made.signed == nil || made.signed.HasPayload() {
		var refused *relay.Refused
		if made.contents, refused = r.find(ctx, made.bid()); refused != nil {
			return refused
		}
	}
	s, first := r.enter(slot, made)
	if s.root != root {
		r.forbid(slot)
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

// findSigned returns the bid of a block, if the relay has taken it of a staked builder; otherwise
// nil.
func (r *Revealer) findSigned(block *gloas.SignedBeaconBlock) *bid.Signed {
	if r.Signed == nil {
		return nil
	}
	return r.Signed.Sold(block.Message.Body.SignedExecutionPayloadBid)
}

// check requires a bid that the relay has signed or taken, the slot's proposer and its signature,
// and that there is time to reveal the payload.
func (r *Revealer) check(at time.Time, block *gloas.SignedBeaconBlock, root phase0.Root) *relay.Refused {
	slot := block.Message.Slot
	offered := block.Message.Body.SignedExecutionPayloadBid
	if offered.Message.Slot != slot || offered.Message.ParentBlockRoot != block.Message.ParentRoot ||
		r.findSigned(block) == nil && !r.Bids.Sold(offered) {
		return relay.PayloadUnknown.With("the block has no bid of this relay")
	}
	duty := r.Chain.Duty(slot)
	if duty == nil || duty.Index != block.Message.ProposerIndex {
		return relay.PayloadUnknownProposer.With("got %d", block.Message.ProposerIndex)
	}
	signed := eth.SigningRoot(root, r.Spec.ProposerDomain(slot))
	if err := bls.Verify(duty.Proposer, signed, block.Signature); err != nil {
		return relay.PayloadSignature.With("%v", err)
	}
	if !at.Before(r.deadline(slot)) {
		return relay.PayloadTooLate.With("%d ms into the slot", at.Sub(r.Spec.SlotStart(slot)).Milliseconds())
	}
	return nil
}

// find returns the payload that a bid was made of. If no payload has the hash of the bid, it
// returns one that only claims it: its builder is to blame, and its block was sold all the same.
func (r *Revealer) find(ctx context.Context, sold *gloas.ExecutionPayloadBid) (*relay.Contents, *relay.Refused) {
	ctx, cancel := context.WithTimeout(ctx, r.StoreTimeout)
	defer cancel()
	var claims *relay.Contents
	contents, err := r.Payloads.Find(ctx, sold.Slot, sold.BlockHash, func(c *relay.Contents) bool {
		if !isOf(c, sold) {
			return false
		}
		claims = c
		p, requests := payload.JoinGloas(c.Payload, c.Requests, c.Gloas)
		_, err := payload.GloasBlock(p, sold.BlobKZGCommitments, sold.ParentBlockRoot, requests)
		return err == nil
	})
	switch contents = cmp.Or(contents, claims); {
	case err != nil:
		r.Log.Error("read escrow", "slot", sold.Slot, "error", err)
		return nil, relay.PayloadEscrowDown.Plain()
	case contents == nil:
		return nil, relay.PayloadUnknown.Plain()
	}
	return contents, nil
}

// isOf says whether a payload agrees with a bid in all but the hash. Until a block was executed its
// hash is the word of its builder, so that payloads of several builders may stand under one.
func isOf(c *relay.Contents, sold *gloas.ExecutionPayloadBid) bool {
	if c.Gloas == nil || c.Payload.ParentHash != sold.ParentBlockHash || c.Payload.PrevRandao != sold.PrevRandao ||
		c.Payload.GasLimit != sold.GasLimit || !slices.Equal(c.Blobs.Commitments, sold.BlobKZGCommitments) {
		return false
	}
	_, requests := payload.JoinGloas(c.Payload, c.Requests, c.Gloas)
	root, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	return err == nil && root == sold.ExecutionRequestsRoot
}

// enter notes a block of a slot's proposer with a bid of the relay. It returns the sale of the
// slot, and whether it is a new one.
func (r *Revealer) enter(slot phase0.Slot, made *sale) (*sale, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, first := r.sales[slot], false
	if known == nil {
		known, first = made, true
		made.Sale = r.seen[slot]
		r.sales[slot] = made
		delete(r.seen, slot)
	}
	known.Sale = known.Seen(made.root, true)
	if known.Equivocated() {
		go r.forbid(slot)
	}
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
	if s.contents == nil {
		r.leave(s, relay.LeftAlone)
	}
	r.mu.Unlock()
	r.NoteBlock(s.block.Message.Slot, s.root)
	r.NoteHead(r.Chain.Head())
}

func (r *Revealer) publishBlock(ctx context.Context, s *sale) *relay.Refused {
	slot := s.block.Message.Slot
	ssz, err := gloas.Mainnet.SignedBeaconBlock.Encode(s.block)
	if err != nil {
		return relay.Malformed.With("encode block: %v", err)
	}
	claiming, cancel := context.WithTimeout(ctx, r.StoreTimeout)
	defer cancel()
	// If this process ends after the guard is won, another one must find the block.
	if err := r.Kept.Keep(claiming, slot, s.root, ssz); err != nil {
		r.Log.Error("keep a block", "slot", slot, "error", err)
		return relay.PayloadEscrowDown.Plain()
	}
	switch won, err := r.Guard.Claim(claiming, slot, s.root); {
	case err != nil:
		r.Log.Error("claim slot", "slot", slot, "error", err)
		return relay.PayloadGuardDown.Plain()
	case !won:
		r.forbid(slot)
		return relay.PayloadOther.With("slot %d", slot)
	}
	r.Slots.MarkDelivered(slot, s.bid().BlockHash) // nothing more is sold for the slot
	publishing, stop := context.WithTimeout(ctx, r.PublishTimeout)
	defer stop()
	if err := r.Publisher.Publish(publishing, r.Spec.ForkAt(slot), s.root, ssz); err != nil {
		r.Log.Error("publish block", "slot", slot, "error", err)
		return relay.PayloadNotPublished.Plain()
	}
	if s.signed != nil {
		r.Signed.MarkSold(s.signed)
	}
	return nil
}

// Close forgets the sales of slots before the given one.
func (r *Revealer) Close(before phase0.Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot, s := range r.sales {
		if slot < before {
			switch {
			case !s.taken || s.IsRevealed():
			case !r.mayReveal(s) && s.awaited:
				r.leave(s, relay.LeftUnsigned)
			case !r.mayReveal(s):
				r.leave(s, relay.LeftUnseen)
			default:
				r.withhold(s, relay.WithheldLate, "its block did not become the head")
			}
			delete(r.sales, slot)
		}
	}
	maps.DeleteFunc(r.seen, func(slot phase0.Slot, _ bid.Sale) bool { return slot < before })
}
