package stakedbid

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// SignEnvelope takes the signature of an envelope whose payload is here. It returns when the
// signature is kept; the same one again has the same answer. Errors are *relay.Refused.
func (t *Taker) SignEnvelope(ctx context.Context, at time.Time,
	signed *gloas.SignedBlindedExecutionPayloadEnvelope) error {
	s := t.withPayload(signed.Message)
	if s == nil {
		return relay.StakedEnvelopeUnknown.With("builder %d, payload %#x", signed.Message.BuilderIndex,
			signed.Message.PayloadRoot[:])
	}
	slot := s.Message.Slot
	if due := t.Spec.SlotStart(slot).Add(t.Spec.SlotDuration / 2); !at.Before(due) {
		return relay.PayloadTooLate.With("%d ms into the slot", at.Sub(t.Spec.SlotStart(slot)).Milliseconds())
	}
	isNew, refused := t.maySign(s, signed)
	if refused != nil {
		return refused
	}
	if !isNew {
		return nil
	}
	if refused := t.checkEnvelope(s, signed); refused != nil {
		return refused
	}
	raw, err := gloas.Mainnet.SignedBlindedEnvelope.ToJSON(signed)
	if err != nil {
		return relay.Malformed.With("encode envelope: %v", err)
	}
	fact := relay.EnvelopeSigned{At: at, Slot: slot, Builder: s.Builder, BlockHash: s.Message.BlockHash, Envelope: raw}
	if err := t.Memory.KeepEnvelope(ctx, fact); err != nil {
		return relay.StakedBidNotKept.Plain()
	}
	t.keepEnvelope(slot, signed)
	t.Arrived()
	return nil
}

// withPayload returns a bid that an envelope is for, whose payload is here; nil if there is none.
func (t *Taker) withPayload(e *gloas.BlindedExecutionPayloadEnvelope) *bid.Signed {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.slots {
		for _, s := range of.byRoot {
			if s.HasPayload() && s.PayloadRoot == e.PayloadRoot && s.Message.BuilderIndex == e.BuilderIndex {
				return s
			}
		}
	}
	return nil
}

// maySign says whether an envelope is new. It refuses one too many of a builder.
func (t *Taker) maySign(s *bid.Signed, signed *gloas.SignedBlindedExecutionPayloadEnvelope) (bool, *relay.Refused) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of(s.Message.Slot)
	if known := of.envelopes[keyOf(signed.Message)]; known != nil && *known.Message == *signed.Message &&
		known.Signature == signed.Signature {
		return false, nil
	}
	if of.signed[s.Message.BuilderIndex] >= maxEnvelopes {
		return false, relay.StakedBidTooMany.With("at most %d envelopes of a builder for a slot", maxEnvelopes)
	}
	return true, nil
}

// checkEnvelope requires the envelope of a bid. Its payload keeps the rules of envelopes already.
func (t *Taker) checkEnvelope(s *bid.Signed, signed *gloas.SignedBlindedExecutionPayloadEnvelope) *relay.Refused {
	e, m := signed.Message, s.Message
	switch {
	case e.ExecutionRequestsRoot != m.ExecutionRequestsRoot:
		return relay.StakedEnvelopeWrong.With("the execution requests are not those of the bid")
	case e.ParentBeaconBlockRoot != m.ParentBlockRoot:
		return relay.StakedEnvelopeWrong.With("the parent is not that of the bid")
	case e.BeaconBlockRoot == phase0.Root{}:
		return relay.StakedEnvelopeWrong.With("it names no block")
	}
	root, err := gloas.Mainnet.BlindedEnvelope.Root(e)
	if err != nil {
		return relay.Malformed.With("hash envelope: %v", err)
	}
	signing := eth.SigningRoot(root, gloas.BuilderDomain(t.Spec, m.Slot))
	if err := bls.Verify(s.Builder, signing, signed.Signature); err != nil {
		return relay.StakedEnvelopeWrong.With("signature: %v", err)
	}
	return nil
}

func (t *Taker) keepEnvelope(slot phase0.Slot, signed *gloas.SignedBlindedExecutionPayloadEnvelope) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of(slot)
	if of.envelopes[keyOf(signed.Message)] == nil {
		of.envelopes[keyOf(signed.Message)] = signed
		of.signed[signed.Message.BuilderIndex]++
	}
}

// Envelope returns the signature of the envelope of a bid in a block; false if the builder has not
// sent it.
func (t *Taker) Envelope(s *bid.Signed, block phase0.Root) (phase0.BLSSignature, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.slots[s.Message.Slot]
	if of == nil {
		return phase0.BLSSignature{}, false
	}
	signed := of.envelopes[envelopeKey{block, s.PayloadRoot, s.Message.BuilderIndex}]
	if signed == nil {
		return phase0.BLSSignature{}, false
	}
	return signed.Signature, true
}

// AdoptEnvelope takes an envelope's signature from the journal, as Adopt does with bids.
func (t *Taker) AdoptEnvelope(fact relay.EnvelopeSigned) error {
	if fact.Slot < t.Chain.Head().Slot {
		return nil
	}
	signed, err := gloas.Mainnet.SignedBlindedEnvelope.FromJSON(fact.Envelope)
	if err != nil {
		return fmt.Errorf("decode a staked builder's envelope: %w", err)
	}
	t.keepEnvelope(fact.Slot, signed)
	t.Arrived()
	return nil
}
