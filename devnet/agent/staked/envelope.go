package staked

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// followBlocks signs an envelope for each block of the slot of the last bid.
func (b *Builder) followBlocks(ctx context.Context) {
	builder.FollowTopic(ctx, b.BeaconURL, "block", b.Log, func(data []byte) error {
		var event struct {
			Slot  uint64 `json:"slot,string"`
			Block string `json:"block"`
		}
		var block phase0.Root
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		if err := eth.ParseHex(event.Block, block[:]); err != nil {
			return err
		}
		if err := b.signEnvelope(ctx, phase0.Slot(event.Slot), block); err != nil && ctx.Err() == nil {
			return fmt.Errorf("sign the envelope of slot %d: %w", event.Slot, err)
		}
		return nil
	})
}

func (b *Builder) signEnvelope(ctx context.Context, slot phase0.Slot, block phase0.Root) error {
	b.mu.Lock()
	last := b.bid
	b.mu.Unlock()
	if last == nil || last.message.Slot != slot {
		return nil
	}
	envelope := &gloas.BlindedExecutionPayloadEnvelope{
		PayloadRoot: last.payloadRoot, ExecutionRequestsRoot: last.message.ExecutionRequestsRoot, BuilderIndex: b.Index,
		BeaconBlockRoot: block, ParentBeaconBlockRoot: last.message.ParentBlockRoot,
	}
	root, err := gloas.Mainnet.BlindedEnvelope.Root(envelope)
	if err != nil {
		return fmt.Errorf("hash envelope: %w", err)
	}
	signed := &gloas.SignedBlindedExecutionPayloadEnvelope{Message: envelope,
		Signature: b.Key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(b.Spec, slot)))}
	var errs []error
	for _, relay := range b.Relays {
		errs = append(errs, relay.SignEnvelope(ctx, signed))
	}
	return errors.Join(errs...)
}
