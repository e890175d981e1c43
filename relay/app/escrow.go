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

// escrowKey begins with the slot, so that a slot that is over can be dropped as a whole. The
// builder stands behind the block, so that all builders that have put a payload of a block can be
// found. Keys of an earlier version have no builder; they belong to the zero builder.
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
		return nil, nil // as the port says, a missing payload is no error
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
		return []phase0.BLSPubKey{{}}, nil // perhaps a payload of the earlier version
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

// sync makes contents survive a power cut.
func (e escrow) sync(ctx context.Context, id relay.PayloadID) error {
	return e.journal.SyncEscrow(ctx, escrowKey(id))
}

// evidence keeps contents in the journal permanently.
type evidence struct{ journal *journal.Journal }

// Keep implements submit.Evidence.
func (e evidence) Keep(ctx context.Context, contents *relay.Contents) error {
	raw, err := wire.EncodeContents(contents)
	if err != nil {
		return fmt.Errorf("encode contents: %w", err)
	}
	return e.journal.Keep(ctx, hex.EncodeToString(contents.Payload.BlockHash[:]), raw)
}

// soldBlocks keeps proposers' blocks with bids of the relay in the journal's store, beside the
// payloads of their slot, with which they are dropped.
type soldBlocks struct{ journal *journal.Journal }

// soldKey is what the keys of a slot's blocks begin with.
func soldKey(slot phase0.Slot) string { return strconv.FormatUint(uint64(slot), 10) + ".sold" }

// Keep implements reveal.Kept.
func (s soldBlocks) Keep(ctx context.Context, slot phase0.Slot, root phase0.Root, ssz []byte) error {
	return s.journal.Put(ctx, soldKey(slot)+"."+hex.EncodeToString(root[:]), ssz)
}

// Blocks implements reveal.Kept.
func (s soldBlocks) Blocks(ctx context.Context, slot phase0.Slot) ([][]byte, error) {
	keys, err := s.journal.EscrowKeys(ctx, soldKey(slot))
	if err != nil {
		return nil, err
	}
	blocks := make([][]byte, len(keys))
	for i, key := range keys {
		if blocks[i], err = s.journal.Get(ctx, key); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// envelopeGuard decides whether the payload of a slot is revealed.
type envelopeGuard struct {
	journal *journal.Journal
	network string
}

// Claim implements reveal.Guard.
func (g envelopeGuard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	_, won, err := g.journal.Claim(ctx, "envelope-"+strconv.FormatUint(uint64(slot), 10)+"-"+g.network, root[:])
	return won, err
}

// guard lets one block root of a slot pass. Its keys contain the network, because another network,
// or a devnet that was started anew, has slots with the same numbers.
type guard struct {
	journal *journal.Journal
	network string
}

// newGuard returns the guard of a network.
func newGuard(j *journal.Journal, spec *eth.Spec) guard {
	return guard{j, networkName(spec)}
}

// networkName tells networks apart, also a devnet that was started anew.
func networkName(spec *eth.Spec) string {
	return fmt.Sprintf("%x-%x-%d", spec.GenesisForkVersion[:], spec.GenesisValidatorsRoot[:8], spec.GenesisTime.Unix())
}

// networkOf is what a relay knows of its network, for journal.KeepNetwork. The chain's id is what
// it has in common with the bundle RPC.
func networkOf(spec *eth.Spec) map[string]string {
	known := map[string]string{"beacon-genesis": networkName(spec)}
	if spec.DepositChainID != 0 {
		known["chain"] = strconv.FormatUint(spec.DepositChainID, 10)
	}
	return known
}

// Claim implements deliver.Guard. A claim of an earlier version, whose keys had no network, still
// counts.
func (g guard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	former := "slot-" + strconv.FormatUint(uint64(slot), 10)
	_, won, err := g.journal.Claim(ctx, former+"-"+g.network, root[:], former)
	return won, err
}
