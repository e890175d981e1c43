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
	ended, facts := d.Pool.Cancel(at, signer, replacement)
	d.withdraw(ended, d.holders(ended))
	d.record(facts)
}

// CancelPrivate ends a private transaction, and says whether there was one of this signer that could be ended.
func (d *Desk) CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended, facts := d.Pool.CancelPrivate(at, signer, txHash)
	d.withdraw(ended, d.holders(ended))
	d.record(facts)
	return ended != nil
}

// holders are the builders that may have an order, or a version of it before: also who did not answer. The caller holds mu.
func (d *Desk) holders(order *rpc.Order) []string {
	if order == nil {
		return nil
	}
	have := append(d.Pool.Builders(order.ID), d.superseded[order.ID]...)
	slices.Sort(have)
	return slices.Compact(have)
}

// withdraw keeps an order that its signer does not want any more from builders, and asks those who may have it to forget it; nil is none. The
// caller holds mu, so that nothing is sent, and no delivery ends, between the look at who has it and this.
func (d *Desk) withdraw(order *rpc.Order, have []string) {
	if order != nil {
		d.Sender.Cancel(order, have)
	}
}
