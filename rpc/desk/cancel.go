package desk

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends what the signer has under a replacementUuid, and keeps out what comes under it for a while. There need not be anything. Builders
// that have it are told; bids that they have placed stay.
func (d *Desk) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, facts := d.Pool.Cancel(at, signer, replacement)
	d.withdraw(facts, nil)
	d.record(facts)
}

// CancelPrivate ends a private transaction, and says whether there was one of this signer that could be ended.
func (d *Desk) CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended, facts := d.Pool.CancelPrivate(at, signer, txHash)
	d.withdraw(facts, nil)
	d.record(facts)
	return ended != nil
}

// holders are the builders that may have an order, or a version of it before: also who did not answer. The caller holds mu.
func (d *Desk) holders(order *rpc.Order) []string {
	have := append(d.Pool.Builders(order.ID), d.superseded[order.ID]...)
	slices.Sort(have)
	return slices.Compact(have)
}

// withdraw keeps the orders that have just ended from builders, and asks those who may have them to forget them: what its signer does not want any
// more, and what followed it. It leaves out one order, nil for none. The caller holds mu, so that nothing is sent, and no delivery ends, between the
// look at who has an order and this.
func (d *Desk) withdraw(facts []rpc.Fact, but *rpc.Order) {
	for _, fact := range facts {
		end, ok := fact.(rpc.OrderEnded)
		if !ok || but != nil && end.ID == but.ID {
			continue
		}
		if order := d.Pool.Order(end.ID); order != nil { // else more ended at once than the pool keeps
			d.Sender.Cancel(order, d.holders(order))
		}
	}
}
