package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// Shared is the live order with this double hash that may be followed. It is nil if there is none:
// it was never seen, its signer shares nothing of it, it has not been announced yet, or it has
// ended. If several orders have the hash, it is the one that was announced first. An order that
// follows it has its ID in Order.Follows.
func (p *Pool) Shared(double common.Hash) *rpc.Order {
	if entries := p.shared[double]; len(entries) > 0 {
		return entries[0].order
	}
	return nil
}

// IsUnshared says whether an order may be announced and has not been: it is alive, and its signer
// shares something of it.
func (p *Pool) IsUnshared(id uint64) bool {
	e := p.entries[id]
	return e != nil && e.alive() && e.order.Bundle.Hints != 0 && !e.shared
}

// Share announces an order, so that it can be followed from now on. It does so once; later calls
// change nothing.
func (p *Pool) Share(id uint64, shared orderflow.Shared) []rpc.Fact {
	if !p.IsUnshared(id) {
		return nil
	}
	return p.applyAll(rpc.OrderShared{ID: id, Shared: shared})
}

// markShared records that an order was announced.
func (p *Pool) markShared(e *entry) {
	e.shared = true
	if e.alive() {
		p.indexShared(e)
	}
}

func (p *Pool) indexShared(e *entry) {
	double := orderflow.MatchingHash(e.order.Bundle.Hash)
	p.shared[double] = append(p.shared[double], e)
}
