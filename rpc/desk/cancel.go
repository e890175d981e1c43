package desk

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Cancel ends what the signer has under a replacementUuid, and keeps out what comes under it for a while. There need not be anything. Builders
// that have it are told; bids that they have placed stay.
func (d *Desk) Cancel(at time.Time, signer common.Address, replacement uuid.UUID) {
	d.mu.Lock()
	ended, facts := d.Pool.Cancel(at, d.head, signer, replacement)
	d.record(facts)
	d.mu.Unlock()
	d.tellBuilders(ended)
}

// CancelPrivate ends a private transaction, and says whether there was one of this signer that could be ended.
func (d *Desk) CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) bool {
	d.mu.Lock()
	ended, facts := d.Pool.CancelPrivate(at, d.head, signer, txHash)
	d.record(facts)
	d.mu.Unlock()
	d.tellBuilders(ended)
	return len(ended) > 0
}

func (d *Desk) tellBuilders(ended []*rpc.Order) {
	for _, order := range ended {
		d.mu.Lock()
		have := d.Pool.SentTo(order.ID)
		d.mu.Unlock()
		if len(have) > 0 {
			d.Sender.Cancel(order, have)
		}
	}
}
