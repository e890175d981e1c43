package pool

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

// Shared is the order alive that somebody may follow who knows it by its double hash, nil when there is none: it was never seen, its signer shares
// nothing of it, or it has ended. Of several with one hash it is the first. Who follows it notes its ID in Order.Follows.
func (p *Pool) Shared(double common.Hash) *rpc.Order {
	if entries := p.shared[double]; len(entries) > 0 {
		return entries[0].order
	}
	return nil
}

// doubleHash is what searchers know an order by: the Keccak-256 of its hash's bytes (orderflow.md §1.7).
func doubleHash(order *rpc.Order) common.Hash { return crypto.Keccak256Hash(order.Bundle.Hash[:]) }

func isShared(order *rpc.Order) bool { return order.Bundle.Hints != 0 }
