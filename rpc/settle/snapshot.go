package settle

import (
	"maps"
	"slices"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// Owed are facts that make the refunds of this book anew: what is pending, and what was paid so
// lately that it could still be reverted. Applied before the facts of an earlier life, all or only
// the newest of them, they change nothing that those say.
func (s *Settler) Owed() []rpc.Fact {
	s.mu.Lock()
	defer s.mu.Unlock()
	var facts []rpc.Fact
	credited := func(list []refund.Pending) {
		for _, p := range list {
			facts = append(facts, rpc.RefundCredited{Refund: p.Refund})
		}
	}
	for _, block := range slices.Sorted(maps.Keys(s.book.paid)) {
		credited(s.book.paid[block])
		for _, p := range s.book.paid[block] {
			facts = append(facts, rpc.RefundPaid{
				Hash: p.Hash, Bundle: p.Bundle, Block: p.Block, BlockHash: p.BlockHash, Recipient: p.Recipient, PayoutBlock: block,
			})
		}
	}
	credited(s.book.pending)
	return facts
}
