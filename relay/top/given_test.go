package top

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// One block may be shown at several values: what was signed for is what a proposer was last
// answered with, not what is shown by now, nor what was only shown.
func TestTopBidKnowsWhatWasGiven(t *testing.T) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	key, block := relay.Key{Slot: 10}, phase0.Hash32{9}
	topBid := new(Bids)
	headers := &Headers{Bids: topBid, Spec: spec, Head: fixedHead(9)}
	bid := func(wei uint64) *relay.SignedBid {
		value := uint256.NewInt(wei)
		return &relay.SignedBid{Key: key, BlockHash: block, ValueWei: value, Trace: relay.Trace{Slot: 10, BlockHash: block,
			ValueWei: value}}
	}
	ask := func() {
		if got, err := headers.Header(t.Context(), spec.SlotStart(10), key, time.Time{}); err != nil || got == nil {
			t.Fatal(got, err)
		}
	}
	want := func(wei uint64) {
		t.Helper()
		if given := topBid.LastServed(10, block); given == nil || given.ValueWei.Uint64() != wei {
			t.Errorf("given %+v, want %d wei", given, wei)
		}
	}
	topBid.Show(key, bid(5))
	if topBid.LastServed(10, block) != nil {
		t.Error("nobody asked")
	}
	ask()
	topBid.Show(key, bid(7))
	want(5)
	ask()
	ask()
	want(7)
	topBid.Show(key, bid(5))
	ask()
	want(5)
	if topBid.LastServed(11, block) != nil || topBid.LastServed(10, phase0.Hash32{}) != nil {
		t.Error("given in another slot, or another block")
	}
	// as a journal says of an earlier life
	topBid.NoteServed(relay.HeaderServed{Slot: 10, BlockHash: block, ValueWei: uint256.NewInt(3)})
	want(3)
	topBid.Clear(11)
	if topBid.LastServed(10, block) != nil {
		t.Error("a slot that is over is remembered")
	}
}
