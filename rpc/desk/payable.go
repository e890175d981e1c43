package desk

import (
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// payable is an order as builders get it: refunds go where those who get them want them now.
func (d *Desk) payable(order *rpc.Order) *rpc.Order {
	if d.Recipients == nil {
		return order
	}
	return refund.Redirected(order, d.Recipients.Recipient)
}
