package world_test

import (
	"testing"
	"time"

	"github.com/attestantio/go-builder-client/api/fulu"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/world"
)

// A world gives each slot once, builds blocks that pay what was ordered, and goes on by itself.
func TestWorld(t *testing.T) {
	_, client := world.Running(t, world.Config{Slot: time.Second})
	ctx := t.Context()
	if len(client.Facts.ValidatorKeys) != world.UsualValidators {
		t.Errorf("%d keys, want %d", len(client.Facts.ValidatorKeys), world.UsualValidators)
	}
	var slots []*world.Slot
	for range 3 {
		slot, err := client.Slot(ctx, world.Wanted{Kind: world.Registered, Alone: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(slots) > 0 && slots[len(slots)-1].Slot >= slot.Slot {
			t.Errorf("slot %d was given after %d", slot.Slot, slots[len(slots)-1].Slot)
		}
		slots = append(slots, slot)
	}
	if slots[0].ParentHash == slots[2].ParentHash {
		t.Error("the chain stands still")
	}
	pays := uint256.NewInt(12345)
	raw, err := client.Block(ctx, world.Order{
		Slot: *slots[2], FeeRecipient: "0x00000000000000000000000000000000000000aa", PaysWei: pays.ToBig(),
		GasLimit: 60_000_000, Blobs: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var block fulu.SubmitBlockRequest
	if err := block.UnmarshalSSZ(raw); err != nil {
		t.Fatal(err)
	}
	if got := len(block.ExecutionPayload.Transactions); got != 2 || len(block.BlobsBundle.Blobs) != 1 {
		t.Errorf("%d transactions and %d blobs, want a blob transaction and the payment", got, len(block.BlobsBundle.Blobs))
	}
	if block.ExecutionPayload.Timestamp != slots[2].Timestamp || block.ExecutionPayload.ParentHash != slots[2].ParentHash {
		t.Error("the block is not for the slot")
	}
	if raw, err = client.Block(ctx, world.Order{
		Slot: *slots[2], FeeRecipient: "0x00000000000000000000000000000000000000aa", PaysWei: pays.ToBig(),
		GasLimit: 60_000_000, Bytes: 250_000,
	}); err != nil {
		t.Fatal(err)
	}
	if len(raw) < 250_000 || len(raw) > 260_000 {
		t.Errorf("the block has %d bytes, of which 250,000 were ordered", len(raw))
	}
	if _, err := client.Block(ctx, world.Order{Slot: *slots[2], Bytes: world.MostBytes + 1}); err == nil {
		t.Error("there is room for more than there can be")
	}
	one, err := client.Account(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := client.Account(ctx); err != nil || one.SecretKey == other.SecretKey {
		t.Errorf("the same account twice: %v", err)
	}
}
