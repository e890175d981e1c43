package method

import (
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Whoever wonders why an order did not land is told.
func TestWhy(t *testing.T) {
	good, bad := rpc.DatedSimulation{Simulation: rpc.Simulation{Success: true}},
		rpc.DatedSimulation{Simulation: rpc.Simulation{Error: "tx failed"}}
	unpaid := rpc.DatedSimulation{Simulation: rpc.Simulation{Success: true, ProfitWei: new(uint256.Int)}}
	taken, refused := rpc.DatedDelivery{Delivery: rpc.Delivery{Block: 7}},
		rpc.DatedDelivery{Delivery: rpc.Delivery{Block: 7, Error: "busy"}}
	for _, row := range []struct {
		status rpc.OrderStatus
		want   string
	}{
		{rpc.OrderStatus{State: rpc.Submitted}, "it waits for its simulation"},
		{rpc.OrderStatus{State: rpc.Submitted, Simulations: []rpc.DatedSimulation{good, bad}},
			"its newest simulation failed: tx failed"},
		{rpc.OrderStatus{State: rpc.Submitted, FirstBlock: 9}, "it waits for block 9"},
		{rpc.OrderStatus{State: rpc.Submitted,
			Order: &rpc.Order{Bundle: rpc.Bundle{Window: rpc.Window{FirstBlock: 6, MinTimestamp: 1}}}},
			"it waits for its simulation, or for its minTimestamp"},
		{rpc.OrderStatus{State: rpc.Simulated}, "its simulation succeeded; no builder has taken it yet"},
		{rpc.OrderStatus{State: rpc.Simulated, Kind: rpc.KindPrivate, Simulations: []rpc.DatedSimulation{unpaid}},
			"its simulation succeeded, but it pays nothing: it waits for somebody who follows it"},
		{rpc.OrderStatus{State: rpc.Sent, Deliveries: []rpc.DatedDelivery{taken, refused}}, "builders have it for block 7"},
		{rpc.OrderStatus{State: rpc.Landed, Block: 7}, "it is in block 7"},
		{rpc.OrderStatus{State: rpc.Cancelled}, "its signer cancelled it"},
		{rpc.OrderStatus{State: rpc.Cancelled, Reason: "replaced"}, "its signer replaced it by a newer version"},
		{rpc.OrderStatus{State: rpc.Failed, Reason: "nonce too low"}, "it can never be included: nonce too low"},
		{rpc.OrderStatus{State: rpc.Expired},
			"its last block is over: it was never simulated, since no block within its window and timestamps came in time"},
		{rpc.OrderStatus{State: rpc.Expired, Simulations: []rpc.DatedSimulation{bad}},
			"its last block is over: its newest simulation failed: tx failed"},
		{rpc.OrderStatus{State: rpc.Expired, Simulations: []rpc.DatedSimulation{good}},
			"its last block is over: it came too late to be sent to a builder"},
		{rpc.OrderStatus{State: rpc.Expired, Simulations: []rpc.DatedSimulation{good},
			Deliveries: []rpc.DatedDelivery{refused}},
			"its last block is over: no builder took it: busy"},
		{rpc.OrderStatus{State: rpc.Expired, Simulations: []rpc.DatedSimulation{good},
			Deliveries: []rpc.DatedDelivery{taken, refused}},
			"its last block is over: builders had it, but were outbid, preferred other orders, or did not win the slot"},
	} {
		if row.status.Order == nil {
			row.status.Order = new(rpc.Order)
		}
		if got := explainState(&row.status, 6); got != row.want {
			t.Errorf("%s: %q, want %q", row.status.State, got, row.want)
		}
	}
}
