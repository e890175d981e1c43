package app

import (
	"context"
	"slices"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// Payloads of several builders stand under one block hash; one of a version that had no builder in
// its keys is found as well.
func TestEscrowKeepsPayloadsByBuilder(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{EscrowBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e, hash := escrow{j}, phase0.Hash32{7}
	of := func(slot uint64, builder byte) *relay.Contents {
		return &relay.Contents{
			Fork: eth.Bellatrix,
			Trace: &relay.BidTrace{Slot: slot, BlockHash: hash, BuilderPubkey: phase0.BLSPubKey{builder},
				Value: uint256.NewInt(1)},
			Payload: &payload.Payload{
				BlockHash: hash, BaseFeePerGas: uint256.NewInt(1), GasUsed: uint64(builder),
			},
		}
	}
	for _, contents := range []*relay.Contents{of(1, 1), of(1, 2), of(11, 3), of(2, 0)} {
		if err := e.Put(t.Context(), contents); err != nil {
			t.Fatal(err)
		}
	}
	for slot, want := range map[phase0.Slot][]phase0.BLSPubKey{1: {{1}, {2}}, 11: {{3}}, 2: {{}}} {
		builders, err := e.Builders(t.Context(), slot, hash)
		slices.SortFunc(builders, func(a, b phase0.BLSPubKey) int { return int(a[0]) - int(b[0]) })
		if err != nil || !slices.Equal(builders, want) {
			t.Errorf("slot %d: %v, %v, want %v", slot, builders, err, want)
		}
		for _, builder := range builders {
			contents, err := e.Get(t.Context(), relay.PayloadID{Slot: slot, BlockHash: hash, Builder: builder})
			if err != nil || contents == nil || contents.Payload.GasUsed != uint64(builder[0]) {
				t.Errorf("slot %d, builder %d: %v, %v", slot, builder[0], contents, err)
			}
		}
	}
	contents, err := e.Get(t.Context(), relay.PayloadID{Slot: 1, BlockHash: hash, Builder: phase0.BLSPubKey{9}})
	if contents != nil || err != nil {
		t.Errorf("of a builder that put nothing: %v, %v", contents, err)
	}
}
