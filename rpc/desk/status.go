package desk

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Status is what is known of a signer's newest order with a hash; nil if there is none, or none any more.
func (d *Desk) Status(signer common.Address, hash common.Hash) *rpc.OrderStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.Pool.Status(signer, hash)
	if len(all) == 0 {
		return nil
	}
	newest := all[0]
	status := &rpc.OrderStatus{
		Order: newest.Order, Hash: newest.Order.Hash(), Kind: newest.Order.Kind, ReceivedAt: newest.Order.ReceivedAt, State: newest.State, FirstBlock: newest.FirstBlock, Simulations: newest.Simulations, Deliveries: newest.Deliveries,
	}
	if end := newest.End; end != nil {
		status.Reason, status.Block, status.BlockHash, status.EndedAt = end.Reason, end.Block, end.BlockHash, end.At
		status.ValueWei = end.ValueWei
	}
	return status
}

// Orders is the number of live orders.
func (d *Desk) Orders() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Pool.Live()
}
