package reveal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// NoteHead is called for each head of the beacon nodes. It never blocks: an envelope is published
// beside it.
func (r *Revealer) NoteHead(head relay.Head) {
	r.NoteBlock(head.Slot, head.Root)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sales[head.Slot]
	if s == nil || !s.taken {
		return
	}
	now, deadline := r.Clock.Now(), r.deadline(head.Slot)
	next, _, why := s.Reveal(head.Root, now, deadline)
	if !r.mayReveal(s) && why != bid.Equivocation { // it is called again when the builder has signed
		s.awaited = s.awaited || why == "" && now.Before(deadline.Add(-r.Spec.SlotDuration/signingPart))
		return
	}
	s.Sale = next
	switch why {
	case "":
		go r.reveal(s)
	case bid.Done:
	case bid.Equivocation:
		r.withhold(s, relay.WithheldEquivocation, string(why))
	case bid.PastDeadline:
		r.withhold(s, relay.WithheldLate, "its block was not the head in time")
	default:
		r.Log.Warn("a payload is not revealed now", "slot", head.Slot, "reason", why)
	}
}

// signingPart is the part of a slot that a builder has for its signature of an envelope, at least,
// before it is to blame for a payload that is not revealed.
const signingPart = 12

// NoteBlock is called for each block that a beacon node has imported, whether it is the head or
// not: only the slot's proposer can sign one. It never blocks.
func (r *Revealer) NoteBlock(slot phase0.Slot, root phase0.Root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sales[slot]
	if s == nil {
		r.seen[slot] = r.seen[slot].Seen(root, false)
		return
	}
	s.Sale = s.Seen(root, root == s.root)
	if !s.Equivocated() {
		return
	}
	go r.forbid(slot)
	if s.taken && !s.IsRevealed() && s.contents != nil {
		r.withhold(s, relay.WithheldEquivocation, string(bid.Equivocation))
	}
}

// reveal publishes the envelope, and records that a node has taken it.
func (r *Revealer) reveal(s *sale) {
	slot := s.block.Message.Slot
	ssz, err := r.envelope(s)
	if err != nil {
		r.withheld(s, relay.WithheldFault, fmt.Sprintf("make an envelope: %v", err))
		return
	}
	if err := r.publishUntilDue(s, ssz); err != nil {
		reason := relay.WithheldLate
		if errors.Is(err, errEquivocated) {
			reason = relay.WithheldEquivocation
		}
		r.withheld(s, reason, err.Error())
		return
	}
	took := r.Clock.Now().Sub(s.at).Milliseconds()
	trace := s.contents.FlatTrace()
	trace.Builder, trace.ValueWei = s.builder(), bid.WorthWei(s.bid())
	r.Facts.Record(relay.PayloadDelivered{
		At: r.Clock.Now(), Trace: trace, PaidWei: r.Slots.Paid(s.contents.ID()), BlockRoot: s.root,
		MsIntoSlot: s.at.Sub(r.Spec.SlotStart(slot)).Milliseconds(), RevealMs: &took,
	})
}

// withheld records, once for a sale, that its payload is not revealed.
func (r *Revealer) withheld(s *sale, reason, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withhold(s, reason, detail)
}

// withhold is withheld for a caller that holds mu.
func (r *Revealer) withhold(s *sale, reason, detail string) {
	if s.withheld {
		return
	}
	s.withheld = true
	message := s.bid()
	r.Log.Error("a payload that was sold is not revealed", "slot", message.Slot, "reason", reason, "detail", detail)
	r.Facts.Record(relay.PayloadWithheld{
		At: r.Clock.Now(), Slot: message.Slot, BlockRoot: s.root, BlockHash: message.BlockHash,
		Builder: s.builder(), Reason: reason, Detail: detail,
	})
}

// mayReveal says whether the relay can make the envelope of a sale: always of its own bids, and of
// a staked builder's once that has signed it. The caller holds mu.
func (r *Revealer) mayReveal(s *sale) bool {
	if s.signed == nil || s.contents == nil {
		return s.signed == nil
	}
	_, signed := r.Signed.Envelope(s.signed, s.root)
	return signed
}

// leave records, once for a sale, that its payload is for the builder to reveal. The caller
// holds mu.
func (r *Revealer) leave(s *sale, reason string) {
	if s.withheld {
		return
	}
	s.withheld = true
	message := s.bid()
	r.Log.Info("a payload is left to its builder", "slot", message.Slot, "builder", message.BuilderIndex, "reason", reason)
	r.Facts.Record(relay.PayloadLeft{
		At: r.Clock.Now(), Slot: message.Slot, BlockRoot: s.root, BlockHash: message.BlockHash, Builder: s.builder(),
		Reason: reason,
	})
}

const (
	// retryPause is how long to wait before nodes that refused an envelope are asked again, in chain
	// time.
	retryPause = 200 * time.Millisecond
	// attemptTimeout is how long nodes that do not answer hold up the next attempt, in wall time. What
	// they were sent stays on its way.
	attemptTimeout = time.Second
)

// Why an envelope is not made, or not sent again.
var (
	errPastDue     = errors.New("it was refused until the payload's deadline")
	errEquivocated = errors.New("the proposer has signed another block")
	errNotSigned   = errors.New("the builder has not signed the envelope")
)

// publishUntilDue asks the nodes to take an envelope, again and again until one does. It stops at
// the payload's deadline, and when a second block of the proposer becomes known here or to another
// instance before the first attempt.
func (r *Revealer) publishUntilDue(s *sale, ssz []byte) error {
	slot := s.block.Message.Slot
	// The clock decides when it is too late. This only ends the wait on one that stands still.
	waiting, stop := context.WithTimeout(context.Background(), r.Spec.SlotDuration)
	defer stop()
	for {
		now := r.Clock.Now()
		switch {
		case !now.Before(r.deadline(slot)):
			return errPastDue
		case r.isEquivocated(s):
			return errEquivocated
		}
		err := r.publishOnce(s, ssz)
		if err == nil || errors.Is(err, errEquivocated) {
			return err
		}
		r.Log.Warn("publish an envelope; it is tried again", "slot", slot, "error", err)
		if err := r.Clock.Until(waiting, now.Add(retryPause)); err != nil {
			return fmt.Errorf("wait until nodes are asked again: %w", err)
		}
	}
}

// publishOnce wins the guard of the slot's envelope, and asks all nodes to take it.
func (r *Revealer) publishOnce(s *sale, ssz []byte) error {
	asking, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	switch won, err := r.Envelopes.Claim(asking, s.block.Message.Slot, s.root); {
	case err != nil:
		return fmt.Errorf("claim the slot's envelope: %w", err)
	case !won:
		return errEquivocated
	}
	return r.Publisher.PublishEnvelope(asking, ssz)
}

// forbid keeps every instance from revealing a payload of a slot whose proposer has signed two
// blocks, unless one has begun to.
func (r *Revealer) forbid(slot phase0.Slot) {
	ctx, cancel := context.WithTimeout(context.Background(), r.StoreTimeout)
	defer cancel()
	switch won, err := r.Envelopes.Claim(ctx, slot, phase0.Root{}); {
	case err != nil:
		r.Log.Error("note that a proposer has signed two blocks", "slot", slot, "error", err)
	case won:
		r.Log.Warn("a proposer has signed two blocks: its payload is not revealed", "slot", slot)
	}
}

func (r *Revealer) isEquivocated(s *sale) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.Equivocated()
}

// envelope returns the signed envelope of a sold block with its blobs, in SSZ.
func (r *Revealer) envelope(s *sale) ([]byte, error) {
	block := s.block.Message
	message := &gloas.ExecutionPayloadEnvelope{
		BuilderIndex:    s.bid().BuilderIndex,
		BeaconBlockRoot: s.root, ParentBeaconBlockRoot: block.ParentRoot,
	}
	message.Payload, message.ExecutionRequests = payload.JoinGloas(s.contents.Payload, s.contents.Requests,
		s.contents.Gloas)
	signature, err := r.signatureOf(s, message)
	if err != nil {
		return nil, err
	}
	return gloas.Mainnet.EnvelopeContents.Encode(&gloas.SignedExecutionPayloadEnvelopeContents{
		SignedExecutionPayloadEnvelope: &gloas.SignedExecutionPayloadEnvelope{Message: message, Signature: signature},
		KZGProofs:                      s.contents.Blobs.Proofs, Blobs: s.contents.Blobs.Blobs,
	})
}

// signatureOf is the signature of an envelope: the relay's, or that of the staked builder whose bid
// it was.
func (r *Revealer) signatureOf(s *sale, message *gloas.ExecutionPayloadEnvelope) (phase0.BLSSignature, error) {
	if s.signed != nil {
		if signature, signed := r.Signed.Envelope(s.signed, s.root); signed {
			return signature, nil
		}
		return phase0.BLSSignature{}, errNotSigned
	}
	block := s.block.Message
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(message)
	if err != nil {
		return phase0.BLSSignature{}, fmt.Errorf("hash envelope: %w", err)
	}
	signature := r.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(r.Spec, block.Slot)))
	return signature, nil
}
