package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// escrow keeps contents in the journal's store, by slot and block hash.
type escrow struct{ journal *journal.Journal }

// Put implements relay.Escrow.
func (e escrow) Put(ctx context.Context, contents *relay.Contents) error {
	raw, err := wire.EncodeContents(contents)
	if err != nil {
		return fmt.Errorf("encode contents: %w", err)
	}
	return e.journal.Put(ctx, escrowKey(phase0.Slot(contents.Trace.Slot), contents.Payload.BlockHash), raw)
}

// escrowKey has the slot in front, so that a slot that is over can be forgotten as a whole.
func escrowKey(slot phase0.Slot, blockHash phase0.Hash32) string {
	return strconv.FormatUint(uint64(slot), 10) + "." + hex.EncodeToString(blockHash[:])
}

// Get implements relay.Escrow.
func (e escrow) Get(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) (*relay.Contents, error) {
	raw, err := e.journal.Get(ctx, escrowKey(slot, blockHash))
	if errors.Is(err, journal.ErrNotFound) && !errors.Is(err, journal.ErrCorrupt) {
		return nil, nil //nolint:nilnil // the port says so: not being there is no error
	}
	if err != nil {
		return nil, err
	}
	return wire.DecodeContents(raw)
}

// sync has contents outlive a power cut.
func (e escrow) sync(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) error {
	return e.journal.SyncEscrow(ctx, escrowKey(slot, blockHash))
}

// evidence keeps contents in the journal for good.
type evidence struct{ journal *journal.Journal }

// Keep implements receive.Evidence.
func (e evidence) Keep(ctx context.Context, contents *relay.Contents) error {
	raw, err := wire.EncodeContents(contents)
	if err != nil {
		return fmt.Errorf("encode contents: %w", err)
	}
	return e.journal.Keep(ctx, hex.EncodeToString(contents.Payload.BlockHash[:]), raw)
}

// guard lets one block root of a slot pass. Its keys have the network in them: the slots of another network, or of a devnet that has begun anew, are
// others.
type guard struct {
	journal *journal.Journal
	network string
}

// newGuard is the guard of a network.
func newGuard(j *journal.Journal, spec *eth.Spec) guard {
	return guard{j, fmt.Sprintf("%x-%x-%d", spec.GenesisForkVersion[:], spec.GenesisValidatorsRoot[:8], spec.GenesisTime.Unix())}
}

// Claim implements deliver.Guard. A claim of a version whose keys had no network in them stands.
func (g guard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	former := "slot-" + strconv.FormatUint(uint64(slot), 10)
	_, won, err := g.journal.Claim(ctx, former+"-"+g.network, root[:], former)
	return won, err
}
