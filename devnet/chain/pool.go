package chain

import (
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/txorder"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Pending are the pool's transactions that can be executed on the head: the best tip first, but one sender's always in the order of their
// nonces. Blob transactions carry their sidecars.
func (n *Node) Pending() []*types.Transaction {
	bc := n.Chain()
	head := bc.CurrentBlock()
	next := head.Time + uint64(n.cfg.Spec.SlotDuration.Seconds())
	baseFee := eip1559.CalcBaseFee(bc.Config(), head)

	filter := txpool.PendingFilter{BaseFee: uint256.MustFromBig(baseFee)}
	pending, _ := n.backend.TxPool().Pending(filter)
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
