package desk

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Status is what is known of a signer's newest order with a hash; nil if there is none, or none any more.
func (d *Desk) Status(signer common.Address, hash common.Hash) *rpc.OrderStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Pool.Status(signer, hash)
}

// Orders is the number of live orders.
func (d *Desk) Orders() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Pool.Len()
}
