package reveal

import (
	"context"
	"fmt"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// Seen is called for each head of the beacon nodes. It never blocks: an envelope is published
// beside it.
func (r *Revealer) Seen(head relay.Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sales[head.Slot]
	if s == nil {
		return
	}
	s.Sale = s.Seen(head.Root, head.Root == s.root) // only the slot's proposer can sign its head
	if !s.taken {
		return
	}
	next, _, why := s.Reveal(head.Root, r.Clock.Now(), r.deadline(head.Slot))
	s.Sale = next
	switch why {
	case "":
		go r.reveal(s)
	case bid.Done:
	default:
		r.Log.Warn("a payload is not revealed now", "slot", head.Slot, "reason", why)
	}
}

// reveal publishes the envelope, again and again until a node has taken it or it is too late.
func (r *Revealer) reveal(s *sale) {
	slot := s.block.Message.Slot
	ssz, err := r.envelope(s)
	if err != nil {
		r.Log.Error("make an envelope", "slot", slot, "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.PublishTimeout)
	defer cancel()
	for {
		if !r.Clock.Now().Before(r.deadline(slot)) {
			r.Log.Error("no beacon node has taken the payload in time", "slot", slot)
			return
		}
		err := r.Publisher.PublishEnvelope(ctx, ssz)
		if err == nil {
			break
		}
		r.Log.Error("publish an envelope", "slot", slot, "error", err)
		if ctx.Err() != nil || r.Clock.Until(ctx, r.Clock.Now().Add(retryPause)) != nil {
			return
		}
	}
	message := s.block.Message.Body.SignedExecutionPayloadBid.Message
	trace := s.contents.FlatTrace()
	trace.ValueWei = new(uint256.Int).Mul(uint256.NewInt(uint64(message.ExecutionPayment)), uint256.NewInt(1_000_000_000))
	r.Facts.Record(relay.PayloadDelivered{
		At: r.Clock.Now(), Trace: trace, PaidWei: r.Slots.Paid(s.contents.ID()), BlockRoot: s.root,
		MsIntoSlot: s.at.Sub(r.Spec.SlotStart(slot)).Milliseconds(),
	})
}

// retryPause is how long to wait before nodes that refused an envelope are asked again, in chain
// time.
const retryPause = 200 * time.Millisecond

// envelope returns the signed envelope of a sold block with its blobs, in SSZ.
func (r *Revealer) envelope(s *sale) ([]byte, error) {
	block := s.block.Message
	message := &gloas.ExecutionPayloadEnvelope{
		BuilderIndex:    block.Body.SignedExecutionPayloadBid.Message.BuilderIndex,
		BeaconBlockRoot: s.root, ParentBeaconBlockRoot: block.ParentRoot,
	}
	message.Payload, message.ExecutionRequests = payload.JoinGloas(s.contents.Payload, s.contents.Requests,
		s.contents.Gloas)
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(message)
	if err != nil {
		return nil, fmt.Errorf("hash envelope: %w", err)
	}
	signature := r.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(r.Spec, block.Slot)))
	return gloas.Mainnet.EnvelopeContents.Encode(&gloas.SignedExecutionPayloadEnvelopeContents{
		SignedExecutionPayloadEnvelope: &gloas.SignedExecutionPayloadEnvelope{Message: message, Signature: signature},
		KZGProofs:                      s.contents.Blobs.Proofs, Blobs: s.contents.Blobs.Blobs,
	})
}
