package reveal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// Resume delivers the kept blocks of a slot that this process has not seen, as if their proposers
// had sent them again: those of a process that has ended, or of another instance. Of two blocks the
// guard lets the one pass that it has let pass before.
func (r *Revealer) Resume(ctx context.Context, slot phase0.Slot) error {
	if r.knows(slot) || !r.Clock.Now().Before(r.deadline(slot)) {
		return nil
	}
	kept, err := r.Kept.Blocks(ctx, slot)
	if err != nil {
		return fmt.Errorf("read the blocks of slot %d: %w", slot, err)
	}
	for _, ssz := range kept {
		block, decodeErr := gloas.Mainnet.SignedBeaconBlock.Decode(ssz)
		if decodeErr != nil {
			err = errors.Join(err, fmt.Errorf("decode a block of slot %d: %w", slot, decodeErr))
			continue
		}
		refused := r.Deliver(ctx, r.Clock.Now(), block)
		r.Log.Info("a block that another process has taken is delivered here", "slot", slot, "refused", refused)
	}
	return err
}

// NoteMissed records, once for all instances, that the payload of a kept block was not revealed
// while there was time, because the process that had taken the block has ended. It does nothing
// before the deadline, nor if somebody has begun to reveal, or has seen two blocks of the proposer.
func (r *Revealer) NoteMissed(ctx context.Context, slot phase0.Slot) error {
	if r.knows(slot) || r.Clock.Now().Before(r.deadline(slot)) {
		return nil
	}
	kept, err := r.Kept.Blocks(ctx, slot)
	if err != nil || len(kept) == 0 {
		return err
	}
	block, err := gloas.Mainnet.SignedBeaconBlock.Decode(kept[0])
	if err != nil {
		return fmt.Errorf("decode a block of slot %d: %w", slot, err)
	}
	if r.findSigned(block) != nil {
		return nil // its builder has the payload, too
	}
	root, err := gloas.Mainnet.BeaconBlock.Root(block.Message)
	if err != nil {
		return fmt.Errorf("hash a block of slot %d: %w", slot, err)
	}
	s := &sale{block: block, root: root}
	var refused *relay.Refused
	if s.contents, refused = r.find(ctx, s.bid()); refused != nil {
		return refused
	}
	var own phase0.Root // no block's, and no other process's: one alone wins with it
	if _, err := rand.Read(own[:]); err != nil {
		return fmt.Errorf("make a claim: %w", err)
	}
	won, err := r.Envelopes.Claim(ctx, slot, own)
	if err != nil {
		return fmt.Errorf("note that the payload of slot %d was missed: %w", slot, err)
	}
	if won {
		r.withheld(s, relay.WithheldLate, "the relay was not running until it was too late")
	}
	return nil
}

func (r *Revealer) knows(slot phase0.Slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sales[slot] != nil
}
