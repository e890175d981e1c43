package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// Shared is the order alive that somebody may follow who knows it by its double hash, nil when
// there is none: it was never seen, its signer shares nothing of it, nobody was told of it yet, or
// it has ended. Of several with one hash it is the first that was told. Who follows it notes its ID
// in Order.Follows.
func (p *Pool) Shared(double common.Hash) *rpc.Order {
	if entries := p.shared[double]; len(entries) > 0 {
		return entries[0].order
	}
	return nil
}

// IsUnshared says whether strangers may be told of an order, and were not: it is alive, and its
// signer shares something of it.
func (p *Pool) IsUnshared(id uint64) bool {
	e := p.entries[id]
	return e != nil && e.alive() && e.order.Bundle.Hints != 0 && !e.shared
}

// Share tells strangers of an order, once: after that nothing happens any more. The order can be
// followed from now on.
func (p *Pool) Share(id uint64, shared orderflow.Shared) []rpc.Fact {
	if !p.IsUnshared(id) {
		return nil
	}
	return p.applyAll(rpc.OrderShared{ID: id, Shared: shared})
}

// markShared keeps that strangers were told of an order.
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
