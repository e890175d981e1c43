package inclusion

import (
	"maps"
	"slices"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// Owed returns facts from which this indexer's refunds can be made again: what is pending, and what
// was paid so recently that it could still be reverted. They are applied before the facts of the
// journal; whether those are all or only the newest, the result is the same.
func (x *Indexer) Owed() []rpc.Fact {
	x.mu.Lock()
	defer x.mu.Unlock()
	var facts []rpc.Fact
	credited := func(list []refund.Pending) {
		for _, p := range list {
			facts = append(facts, rpc.RefundCredited{Refund: p.Refund})
		}
	}
	for _, block := range slices.Sorted(maps.Keys(x.refunds.paid)) {
		credited(x.refunds.paid[block])
		for _, p := range x.refunds.paid[block] {
			facts = append(facts, rpc.RefundPaid{
				Hash: p.Hash, Bundle: p.Bundle, Block: p.Block, BlockHash: p.BlockHash, Recipient: p.Recipient, PayoutBlock: block,
			})
		}
	}
	credited(x.refunds.pending)
	return facts
}
