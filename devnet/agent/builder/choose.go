package builder

import (
	"hash/fnv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// choose selects from the pending transactions, in their order and up to a limit. It leaves out the
// transactions of about one sender in sixteen, depending on seed and slot, so that two builders
// build different blocks.
func choose(pending []*types.Transaction, seed, slot uint64, limit int) []*types.Transaction {
	passed := map[common.Address]bool{}
	var chosen []*types.Transaction
	for _, tx := range pending {
		if len(chosen) == limit {
			break
		}
		sender, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
		if err != nil {
			continue // cannot happen: the pool has checked the signature
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
	// one in sixteen. The high bits, because the low bits of this hash depend on low bits only
	return hash.Sum64()>>60 == 0
}
