package inclusion

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// claimsOf assigns each transaction in the orders to one order's id, because its payment can be
// counted only once. A backrun is counted for the bundle that follows another order by it, since a
// part of its value is owed to that order, and not for a bundle that the same signer sent besides.
// The transactions of the followed order remain its own. Otherwise the first order counts.
func claimsOf(landed []*rpc.Order) map[common.Hash]uint64 {
	claims := map[common.Hash]uint64{}
	claim := func(b *rpc.Bundle, id uint64) {
		for tx := range b.Transactions() {
			if _, taken := claims[tx.Hash]; !taken {
				claims[tx.Hash] = id
			}
		}
	}
	for _, order := range landed {
		if order.Follows != 0 {
			claim(&rpc.Bundle{Elements: order.Bundle.Elements[1:]}, order.ID)
		}
	}
	for _, order := range landed {
		claim(&order.Bundle, order.ID)
	}
	return claims
}
