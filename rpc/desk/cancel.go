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
	ended, facts := d.Pool.Cancel(at, signer, replacement)
	have := d.holders(ended)
	d.record(facts)
	d.mu.Unlock()
	d.withdraw(ended, have)
}

// CancelPrivate ends a private transaction, and says whether there was one of this signer that could be ended.
func (d *Desk) CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) bool {
	d.mu.Lock()
	ended, facts := d.Pool.CancelPrivate(at, signer, txHash)
	have := d.holders(ended)
	d.record(facts)
	d.mu.Unlock()
	d.withdraw(ended, have)
	return ended != nil
}

// holders are the builders that have an order, or a version of it before. The caller holds mu.
func (d *Desk) holders(order *rpc.Order) []string {
	if order == nil {
		return nil
	}
	have := append(d.Pool.Builders(order.ID), d.superseded[order.ID]...)
	slices.Sort(have)
	return slices.Compact(have)
}

// withdraw asks those builders to forget an order.
func (d *Desk) withdraw(order *rpc.Order, have []string) {
	if len(have) > 0 {
		d.Sender.Cancel(order, have)
	}
}
