package chain

import (
	"maps"
	"math"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/txorder"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Pending are the pool's transactions that can be executed on the head: the best tip first, but one
// sender's always in the order of their nonces. Blob transactions carry their sidecars. Every one
// that the pool took before the call is among them.
func (n *Node) Pending() []*types.Transaction {
	bc := n.Chain()
	head := bc.CurrentBlock()
	// before the pending ones: what moves from here to there meanwhile is found there
	_, queued := n.backend.TxPool().Content()
	next := head.Time + uint64(n.cfg.Spec.SlotDuration.Seconds())
	baseFee := eip1559.CalcBaseFee(bc.Config(), head)

	filter := txpool.PendingFilter{BaseFee: uint256.MustFromBig(baseFee)}
	pending, _ := n.backend.TxPool().Pending(filter)
	addQueued(pending, queued, n.nonces(head))
	filter.BlobTxs = true
	if bc.Config().IsOsaka(head.Number, next) {
		filter.BlobVersion = types.BlobSidecarVersion1
	}
	blobs, _ := n.backend.TxPool().Pending(filter)
	maps.Copy(pending, blobs) // the pool lets a sender have one kind only

	signer := types.MakeSigner(bc.Config(), new(big.Int).Add(head.Number, big.NewInt(1)), next)
	order := txorder.NewTransactionsByPriceAndNonce(signer, pending, baseFee)
	var list []*types.Transaction
	for {
		lazy, _ := order.Peek()
		if lazy == nil {
			return list
		}
		tx := lazy.Resolve()
		if tx == nil {
			order.Pop() // gone meanwhile, and so is what its sender put behind it
			continue
		}
		list = append(list, tx)
		order.Shift()
	}
}

// nonces are those of accounts after a block, read from a state of our own: the pool's, which its
// Nonce reads, is not for two at a time. If it cannot be read, nothing follows: whoever builds on
// that block, which takes the same state, says why.
func (n *Node) nonces(block *types.Header) func(common.Address) uint64 {
	read := sync.OnceValues(func() (*state.StateDB, error) {
		return n.Chain().StateAt(block.Root, block.Number, block.Time)
	})
	return func(account common.Address) uint64 {
		db, err := read()
		if err != nil {
			return math.MaxUint64
		}
		return db.GetNonce(account)
	}
}

// addQueued adds what the pool has taken but not yet found executable, although nothing is missing
// before it. go-ethereum's pool looks at new transactions in the background, and if it is about to
// follow a new head just then, it compares them with the head's nonces instead of those of their
// sender's pending ones: whatever has pending ones before it stays in the queue until the next
// head. nonce is a sender's next one on the head; it is asked for senders without pending
// transactions only.
func addQueued(pending map[common.Address][]*txpool.LazyTransaction, queued map[common.Address][]*types.Transaction,
	nonce func(common.Address) uint64) {
	for sender, txs := range queued {
		var next uint64
		if before := pending[sender]; len(before) > 0 {
			next = before[len(before)-1].Tx.Nonce() + 1
		} else {
			next = nonce(sender)
		}
		for _, tx := range txs {
			if tx.Nonce() == next {
				pending[sender] = append(pending[sender], lazy(tx))
				next++
			}
		}
	}
}

func lazy(tx *types.Transaction) *txpool.LazyTransaction {
	return &txpool.LazyTransaction{
		Hash: tx.Hash(), Tx: tx, Time: tx.Time(), Gas: tx.Gas(), BlobGas: tx.BlobGas(),
		GasFeeCap: uint256.MustFromBig(tx.GasFeeCap()), GasTipCap: uint256.MustFromBig(tx.GasTipCap()),
	}
}
