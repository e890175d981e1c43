package chain

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

// knownTransactions remembers decoded transactions together with their senders. Builders send the
// same transactions in bid after bid, and recovering a sender costs as much as twenty transfers'
// execution.
type knownTransactions struct {
	mu    sync.Mutex // guards known
	known *lru.BasicLRU[common.Hash, *types.Transaction]
}

// The memory takes at most 128 MiB. Larger transactions than knownBytes are not remembered: they
// are rare, and for them recovering the sender is a smaller part of the cost.
const (
	knownCount = 16_384
	knownBytes = 8 << 10
)

func newKnownTransactions() *knownTransactions {
	known := lru.NewBasicLRU[common.Hash, *types.Transaction](knownCount)
	return &knownTransactions{known: &known}
}

// recover returns the same block with all senders recovered: remembered ones at once, the others on
// all cores. A transaction keeps its sender together with the signer, so a remembered sender is
// never used under other rules.
func (k *knownTransactions) recover(signer types.Signer, block *types.Block) *types.Block {
	txs := append(types.Transactions{}, block.Transactions()...)
	var fresh types.Transactions
	k.mu.Lock()
	for i, tx := range txs {
		if known, ok := k.known.Get(tx.Hash()); ok {
			txs[i] = known
		} else {
			fresh = append(fresh, tx)
		}
	}
	k.mu.Unlock()
	if len(fresh) == len(txs) { // nothing is remembered, so the block can be used as it is
		core.SenderCacher().Recover(signer, txs)
	} else {
		core.SenderCacher().Recover(signer, fresh)
		block = types.NewBlockWithHeader(block.Header()).WithBody(types.Body{Transactions: txs,
			Withdrawals: block.Withdrawals()})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, tx := range fresh {
		if tx.Size() <= knownBytes {
			k.known.Add(tx.Hash(), tx)
		}
	}
	return block
}
