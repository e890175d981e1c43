package lifecycle

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// resolveRecipients returns an order as builders get it: with the recipients that refunds go to
// now.
func (l *Lifecycle) resolveRecipients(order *rpc.Order) *rpc.Order {
	recipient := func(owner common.Address) common.Address { return owner }
	if l.Recipients != nil {
		recipient = l.Recipients.Recipient
	}
	return refund.Payable(order, recipient)
}
