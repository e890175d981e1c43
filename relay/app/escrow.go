package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// escrow keeps contents in the journal's store, by slot, block hash and builder.
type escrow struct{ journal *journal.Journal }

// Put implements relay.Escrow.
func (e escrow) Put(ctx context.Context, contents *relay.Contents) error {
	raw, err := wire.EncodeContents(contents)
	if err != nil {
		return fmt.Errorf("encode contents: %w", err)
	}
	return e.journal.Put(ctx, escrowKey(contents.ID()), raw)
}

// escrowKey has the slot in front, so that a slot that is over can be forgotten as a whole, and the
// builder behind its block, so that all who have put one can be found. A version before this one
// had no builder in its keys: those are of the zero builder.
func escrowKey(id relay.PayloadID) string {
	key := strconv.FormatUint(uint64(id.Slot), 10) + "." + hex.EncodeToString(id.BlockHash[:])
	if id.Builder == (phase0.BLSPubKey{}) {
		return key
	}
	return key + "." + hex.EncodeToString(id.Builder[:])
}

// Get implements relay.Escrow.
func (e escrow) Get(ctx context.Context, id relay.PayloadID) (*relay.Contents, error) {
	raw, err := e.journal.Get(ctx, escrowKey(id))
	if errors.Is(err, journal.ErrNotFound) && !errors.Is(err, journal.ErrCorrupt) {
		return nil, nil // the port says so: not being there is no error
	}
	if err != nil {
		return nil, err
	}
	return wire.DecodeContents(raw)
}

// Builders implements slots.Store.
func (e escrow) Builders(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) ([]phase0.BLSPubKey, error) {
	former := escrowKey(relay.PayloadID{Slot: slot, BlockHash: blockHash})
	keys, err := e.journal.EscrowKeys(ctx, former)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return []phase0.BLSPubKey{{}}, nil // perhaps of the version before
	}
	builders := make([]phase0.BLSPubKey, 0, len(keys))
	for _, key := range keys {
		var builder phase0.BLSPubKey
		raw, err := hex.DecodeString(strings.TrimPrefix(key, former+"."))
		if err != nil || len(raw) != len(builder) {
			return nil, fmt.Errorf("%s is no key of the escrow", key)
		}
		copy(builder[:], raw)
		builders = append(builders, builder)
	}
	return builders, nil
}

// Drop implements slots.Store.
func (e escrow) Drop(ctx context.Context, id relay.PayloadID) error {
	return e.journal.Forget(ctx, escrowKey(id))
}

// sync has contents outlive a power cut.
func (e escrow) sync(ctx context.Context, id relay.PayloadID) error {
	return e.journal.SyncEscrow(ctx, escrowKey(id))
}

// evidence keeps contents in the journal for good.
type evidence struct{ journal *journal.Journal }

// Keep implements submit.Evidence.
func (e evidence) Keep(ctx context.Context, contents *relay.Contents) error {
	raw, err := wire.EncodeContents(contents)
	if err != nil {
		return fmt.Errorf("encode contents: %w", err)
	}
	return e.journal.Keep(ctx, hex.EncodeToString(contents.Payload.BlockHash[:]), raw)
}

// guard lets one block root of a slot pass. Its keys have the network in them: the slots of another
// network, or of a devnet that has begun anew, are others.
type guard struct {
	journal *journal.Journal
	network string
}

// newGuard is the guard of a network.
func newGuard(j *journal.Journal, spec *eth.Spec) guard {
	return guard{j, fmt.Sprintf("%x-%x-%d", spec.GenesisForkVersion[:], spec.GenesisValidatorsRoot[:8],
		spec.GenesisTime.Unix())}
}

// Claim implements deliver.Guard. A claim of a version whose keys had no network in them stands.
func (g guard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	former := "slot-" + strconv.FormatUint(uint64(slot), 10)
	_, won, err := g.journal.Claim(ctx, former+"-"+g.network, root[:], former)
	return won, err
}
