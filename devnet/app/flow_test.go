package app

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/rpc"
)

// A private order, its hint, two backruns of which one lands and is paid for, and an order that is
// cancelled with its backrun.
func TestFlow(t *testing.T) {
	f := newFlow()
	ref := func(id uint64) rpc.OrderRef { return rpc.OrderRef{ID: id} }
	order := func(id, follows uint64) rpc.Fact {
		return rpc.OrderAccepted{Order: &rpc.Order{ID: id, Follows: follows}}
	}
	refund := rpc.Refund{Hash: common.Hash{1}, Bundle: common.Hash{2}, BlockHash: common.Hash{9},
		Recipient: common.Address{1}, AmountWei: uint256.NewInt(90)}
	paid := rpc.RefundPaid{Hash: refund.Hash, Bundle: refund.Bundle, BlockHash: refund.BlockHash,
		Recipient: refund.Recipient}
	for i, step := range []struct {
		fact    rpc.Fact
		changed bool
	}{
		{order(1, 0), true}, {rpc.OrderSimulated{OrderRef: ref(1)}, false}, {rpc.OrderShared{ID: 1}, true},
		{order(2, 1), true}, {order(3, 1), true},
		{order(4, 0), true}, {order(5, 4), true}, {rpc.OrderEnded{OrderRef: ref(4), State: rpc.Cancelled}, true},
		{rpc.OrderEnded{OrderRef: ref(5), State: rpc.Cancelled}, false},
		{rpc.OrderEnded{OrderRef: ref(1), State: rpc.Landed}, false},
		{rpc.OrderEnded{OrderRef: ref(2), State: rpc.Landed}, true},
		{rpc.OrderEnded{OrderRef: ref(3), State: rpc.Failed}, false},
		{rpc.RefundCredited{Refund: refund}, false}, {paid, true}, {paid, false},
	} {
		if got := f.observe(step.fact); got != step.changed {
			t.Errorf("step %d, %T: changed is %v", i, step.fact, got)
		}
	}
	want := display.Flow{Orders: 2, Cancelled: 1, Hints: 1, Backruns: 3, Landed: 1, Refunds: 1}
	got := f.finish()
	if amount := got.RefundedWei; amount == nil || amount.Uint64() != 90 {
		t.Errorf("%s wei are paid back, want 90", amount)
	}
	if got.RefundedWei = nil; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if again := f.finish(); again.Orders != 0 || !again.RefundedWei.IsZero() {
		t.Errorf("nothing more happened, but %+v", again)
	}
}
