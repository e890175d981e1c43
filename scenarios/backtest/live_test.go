package backtest

import (
	"testing"
	"time"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// What enters a relay that runs is what enters the replay, and its leader is the replay's.
func TestLives(t *testing.T) {
	var slot Slot
	for _, line := range [][]string{
		{"bid", "a", "5", "t=-100ms"}, {"bid", "b", "7", "t=0ms", "cancellable"}, {"bid", "b", "4", "t=500ms", "cancellable"},
		{"bid", "c", "0", "t=600ms"}, {"bid", "c", "9", "t=700ms", "refused"}, {"bid", "d", "8", "t=2s"},
		{"bid", "a", "6", "t=1s", "relay=x"},
	} {
		slot.Bids = append(slot.Bids, scriptBid(t, line))
	}
	slot.Deliveries = []*dataset.Delivery{scriptDelivery(t, []string{"deliver", "a", "5"})}
	how, err := Infer(nil)
	if err != nil {
		t.Fatal(err)
	}
	lives := Lives(slot, how, nil)
	if len(lives) != 2 || len(lives[1].Bids) != 1 {
		t.Fatalf("auctions: %+v", lives)
	}
	live := lives[0]
	if len(live.Bids) != 4 || live.LeftOut != 1 || live.Empty != 1 || live.Asked != time.Second ||
		live.AskedBy != "delivered" || live.Bids[0].At != -100*time.Millisecond {
		t.Errorf("the auction: %+v", live)
	}
	results, _ := Replay(slot, how, nil, nil)
	var before []relay.Bid
	for _, bid := range live.Bids {
		if bid.At <= live.Asked {
			before = append(before, bid.Bid)
		}
	}
	top := Leader(before)
	if top == nil || top.BlockHash != results[0].ServedBlock.V || top.ValueWei.Uint64() != results[0].ServedWei.Lo {
		t.Errorf("%v leads, and the replay served %x", top, results[0].ServedBlock.V)
	}
	if Leader(nil) != nil {
		t.Error("somebody leads an auction without bids")
	}
}
