package reveal

import (
	"context"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
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

func (r *Revealer) knows(slot phase0.Slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sales[slot] != nil
}
