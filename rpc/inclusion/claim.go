package inclusion

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// claimsOf says for which order's id each transaction of a block's orders is counted: it was paid
// once. A backrun is counted for the bundle that follows somebody by it, since its value is owed to
// that one in part, and not for a bundle that its signer sent beside it; the order that was
// followed has its own transactions. Else the first order counts.
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
