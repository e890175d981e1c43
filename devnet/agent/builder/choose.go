package builder

import (
	"hash/fnv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// choose is the builder's own choice among pending transactions: their order, but without the
// senders that this builder does not care for in this slot, one in sixteen, and no more than a
// limit. Two builders thus build different blocks.
func choose(pending []*types.Transaction, seed, slot uint64, limit int) []*types.Transaction {
	passed := map[common.Address]bool{}
	var chosen []*types.Transaction
	for _, tx := range pending {
		if len(chosen) == limit {
			break
		}
		sender, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
		if err != nil {
			continue // the pool would not have taken it
		}
		skip, seen := passed[sender]
		if !seen {
			skip = dislikes(sender, seed, slot)
			passed[sender] = skip
		}
		if !skip {
			chosen = append(chosen, tx)
		}
	}
	return chosen
}

func dislikes(sender common.Address, seed, slot uint64) bool {
	hash := fnv.New64a()
	hash.Write(sender[:])
	for _, n := range []uint64{seed, slot} {
		hash.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
	}
	return hash.Sum64()>>60 == 0 // one in sixteen; the low bits of this hash depend on low bits only
}
