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

// Pending returns the pool's transactions that can be executed on the head, the best tip first, but
// a sender's transactions in the order of their nonces. Blob transactions carry their sidecars.
// Every transaction that the pool accepted before the call is considered.
func (n *Node) Pending() []*types.Transaction {
	bc := n.Chain()
	head := bc.CurrentBlock()
	// The queue is read before the pending transactions. So a transaction that moves from one to
	// the other in between is not missed.
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
	maps.Copy(pending, blobs) // a sender has transactions of one kind only in the pool

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
			order.Pop() // it has left the pool, so the sender's later ones cannot be executed either
			continue
		}
		list = append(list, tx)
		order.Shift()
	}
}

// nonces returns a function that gives accounts' nonces after a block. It reads from a state of its
// own, because the pool's state, which Nonce reads, is not safe for concurrent use. If the state
// cannot be read, no nonce matches; building on that block, which needs the same state, then fails
// with the reason.
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

// addQueued adds transactions that the pool has accepted but not yet found executable, although no
// nonce before them is missing. go-ethereum's pool examines new transactions in the background. If
// it is about to follow a new head at that moment, it compares them with the head's nonces instead
// of those after their sender's pending transactions: those with pending ones before them then stay
// in the queue until the next head. nonce returns a sender's next nonce on the head; it is called
// only for senders without pending transactions.
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
