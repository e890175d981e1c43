package stakedbid

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// Another builder that signs an envelope for the block does not take the place of the one whose bid
// the block has, and neither does an envelope of another payload of the same builder.
func TestEnvelopesOfOneBlockAreKeptApart(t *testing.T) {
	taker := newTaker(new(world))
	block := phase0.Root{0xb1}
	rival := bls.Derive("rival", 0)
	bids := map[gloas.BuilderIndex]*bls.SecretKey{index: key, index + 1: rival}
	enter := func(builder gloas.BuilderIndex, payload phase0.Root) *bid.Signed {
		s := &bid.Signed{Builder: bids[builder].PublicKey(), PayloadRoot: payload,
			SignedExecutionPayloadBid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
				Slot: 1, ParentBlockRoot: parentRoot, ParentBlockHash: parentHash, BuilderIndex: builder,
				Value: phase0.Gwei(payload[0]), BlockHash: phase0.Hash32(payload),
			}}}
		if refused := taker.enter(s); refused != nil {
			t.Fatal(refused)
		}
		return s
	}
	sign := func(s *bid.Signed) phase0.BLSSignature {
		e := &gloas.BlindedExecutionPayloadEnvelope{PayloadRoot: s.PayloadRoot, BuilderIndex: s.Message.BuilderIndex,
			ExecutionRequestsRoot: s.Message.ExecutionRequestsRoot, BeaconBlockRoot: block, ParentBeaconBlockRoot: parentRoot}
		root, err := gloas.Mainnet.BlindedEnvelope.Root(e)
		if err != nil {
			t.Fatal(err)
		}
		signature := bids[e.BuilderIndex].Sign(eth.SigningRoot(root, gloas.BuilderDomain(spec, 1)))
		signed := &gloas.SignedBlindedExecutionPayloadEnvelope{Message: e, Signature: signature}
		if err := taker.SignEnvelope(t.Context(), spec.SlotStart(1), signed); err != nil {
			t.Fatal(err)
		}
		return signature
	}
	earlier, sold := enter(index, phase0.Root{1}), enter(index, phase0.Root{2})
	sign(enter(index+1, phase0.Root{3}))
	sign(earlier)
	want := sign(sold)
	if got, signed := taker.Envelope(sold, block); !signed || got != want {
		t.Errorf("the envelope of the block's bid: %v, %#x", signed, got[:4])
	}
}

// One builder cannot fill the memory with envelopes, whatever blocks it names.
func TestEnvelopesOfABuilderAreBounded(t *testing.T) {
	taker := newTaker(new(world))
	s := &bid.Signed{Builder: key.PublicKey(), PayloadRoot: phase0.Root{1},
		SignedExecutionPayloadBid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
			Slot: 1, ParentBlockRoot: parentRoot, BuilderIndex: index, Value: 1}}}
	if refused := taker.enter(s); refused != nil {
		t.Fatal(refused)
	}
	for i := range maxEnvelopes + 1 {
		e := &gloas.BlindedExecutionPayloadEnvelope{PayloadRoot: s.PayloadRoot, BuilderIndex: index,
			BeaconBlockRoot: phase0.Root{byte(i + 1)}, ParentBeaconBlockRoot: parentRoot}
		root, err := gloas.Mainnet.BlindedEnvelope.Root(e)
		if err != nil {
			t.Fatal(err)
		}
		err = taker.SignEnvelope(t.Context(), spec.SlotStart(1), &gloas.SignedBlindedExecutionPayloadEnvelope{Message: e,
			Signature: key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(spec, 1)))})
		if i < maxEnvelopes && err != nil {
			t.Fatal(err)
		}
		if i == maxEnvelopes {
			wantRefusal(t, err, relay.StakedBidTooMany)
		}
	}
}
