package desk

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// payable is an order as builders get it: refunds go where those who get them want them now.
func (d *Desk) payable(order *rpc.Order) *rpc.Order {
	recipient := func(owner common.Address) common.Address { return owner }
	if d.Recipients != nil {
		recipient = d.Recipients.Recipient
	}
	return refund.Payable(order, recipient)
}
