package builder

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// promisesAhead is how many bids may wait for Run to look after them.
const promisesAhead = 16

// Sighting is what a staked builder sees of the block of a slot for which it has bid. Times are
// relative to the slot's start.
type Sighting struct {
	Length, Now time.Duration
	// Block says that the slot has a block, Ours that the block has the builder's bid.
	Block, Ours bool
}

// Disclosure is what becomes of the payload of a bid: to wait until a time, or to reveal it. The
// zero value keeps it for ever.
type Disclosure struct {
	Wait   bool
	Until  time.Duration
	Reveal bool
	// WithoutBlobs reveals the payload alone.
	WithoutBlobs bool
}

// Disclose decides what to do with the payload of a bid: it is revealed once the block with the bid
// is seen, and no more when the slot is over. It is pure.
func (c Conduct) Disclose(at Sighting) Disclosure {
	switch {
	case at.Now >= at.Length || at.Block && (!at.Ours || c.Withhold):
		return Disclosure{}
	case !at.Block:
		return Disclosure{Wait: true, Until: max(0, at.Now+at.Length/looksPerSlot)}
	case at.Now < c.RevealAt:
		return Disclosure{Wait: true, Until: c.RevealAt}
	default:
		return Disclosure{Reveal: true, WithoutBlobs: c.WithholdBlobs}
	}
}

// keepPromises looks after the bids of the network until the context ends.
func (b *Builder) keepPromises(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	for {
		select {
		case one := <-b.promised:
			working.Go(func() {
				if err := b.keep(ctx, one); err != nil && ctx.Err() == nil {
					b.Log.Warn("payload not revealed", "builder", b.Name, "slot", one.bid.Message.Slot, "error", err)
				}
			})
		case <-ctx.Done():
			return
		}
	}
}

// keep does what Disclose decides for a bid, until its payload is revealed or no more to be.
func (b *Builder) keep(ctx context.Context, one promise) error {
	slot := one.bid.Message.Slot
	start := b.Spec.SlotStart(slot)
	at := Sighting{Length: b.Spec.SlotDuration}
	for {
		at.Now = b.Clock.Now().Sub(start)
		if at.Now >= 0 && !at.Block {
			if err := b.look(ctx, &at, one); err != nil {
				return err
			}
		}
		d := b.Conduct.Disclose(at)
		switch {
		case d.Reveal:
			return b.reveal(ctx, one, d.WithoutBlobs)
		case !d.Wait:
			return nil
		}
		if err := b.Clock.Until(ctx, start.Add(d.Until)); err != nil {
			return err
		}
	}
}

// look asks the beacon node for the slot's block. A node that does not answer has none.
func (b *Builder) look(ctx context.Context, at *Sighting, one promise) error {
	raw, err := b.askNode(ctx, http.MethodGet, fmt.Sprintf("/eth/v2/beacon/blocks/%d", one.bid.Message.Slot), nil, nil)
	if err != nil {
		return ctx.Err()
	}
	signed, err := gloas.Mainnet.SignedBeaconBlock.Decode(raw)
	if err != nil {
		return fmt.Errorf("decode block: %w", err)
	}
	at.Block, at.Ours = true, signed.Message.Body.SignedExecutionPayloadBid.Message.BlockHash == one.bid.Message.BlockHash
	one.envelope.BeaconBlockRoot, err = gloas.Mainnet.BeaconBlock.Root(signed.Message)
	if err != nil {
		return fmt.Errorf("hash block: %w", err)
	}
	return nil
}

// reveal signs the envelope of a payload and publishes it, with its blobs or without.
func (b *Builder) reveal(ctx context.Context, one promise, withoutBlobs bool) error {
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(one.envelope)
	if err != nil {
		return fmt.Errorf("hash envelope: %w", err)
	}
	signed := &gloas.SignedExecutionPayloadEnvelope{
		Message:   one.envelope,
		Signature: b.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, one.bid.Message.Slot))),
	}
	included := "true"
	encode := func() ([]byte, error) {
		return gloas.Mainnet.EnvelopeContents.Encode(&gloas.SignedExecutionPayloadEnvelopeContents{
			SignedExecutionPayloadEnvelope: signed, KZGProofs: one.blobs.Proofs, Blobs: one.blobs.Blobs,
		})
	}
	if withoutBlobs {
		included = "false"
		encode = func() ([]byte, error) { return gloas.Mainnet.SignedExecutionPayloadEnvelope.Encode(signed) }
	}
	raw, err := encode()
	if err != nil {
		return fmt.Errorf("encode envelope: %w", err)
	}
	_, err = b.askNode(ctx, http.MethodPost, "/eth/v1/beacon/execution_payload_envelopes", raw,
		http.Header{"Eth-Blob-Data-Included": {included}})
	if err != nil {
		return fmt.Errorf("publish payload: %w", err)
	}
	return nil
}
