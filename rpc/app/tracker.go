package app

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
)

// tracker asks the lifecycle for an order's status, and the ledger if the lifecycle has forgotten
// the order.
type tracker struct {
	lifecycle *lifecycle.Lifecycle
	ledger    *ledger.Ledger
}

// Status implements method.Tracker.
func (t tracker) Status(ctx context.Context, signer common.Address, hash common.Hash) (*rpc.OrderStatus, error) {
	if status, err := t.lifecycle.KeptStatus(signer, hash); status != nil || err != nil {
		return status, err
	}
	r, err := t.ledger.Order(ctx, hash, signer)
	if err != nil || r == nil {
		return nil, err
	}
	status := &rpc.OrderStatus{
		Hash: r.Hash, Kind: r.Kind, ReceivedAt: r.ReceivedAt, State: r.State, Reason: r.Reason, Block: r.Block,
		BlockHash: r.BlockHash,
		ValueWei:  r.ValueWei, EndedAt: r.EndedAt,
	}
	if !r.SimulatedAt.IsZero() {
		status.Simulations = append(status.Simulations, rpc.DatedSimulation{At: r.SimulatedAt,
			Simulation: rpc.Simulation{Success: true}})
	}
	if r.SimulationError != "" {
		status.Simulations = append(status.Simulations,
			rpc.DatedSimulation{At: r.EndedAt, Simulation: rpc.Simulation{Error: r.SimulationError}})
	}
	for _, s := range r.Sent {
		status.Deliveries = append(status.Deliveries,
			rpc.DatedDelivery{At: s.At, Delivery: rpc.Delivery{Builder: s.Builder, Block: r.Block}})
	}
	return status, nil
}
