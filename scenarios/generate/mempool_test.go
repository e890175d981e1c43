package generate

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/network"
)

// The best tip comes first, but a sender's transactions in the order of their nonces; what a block
// has is not pending any more.
func TestMempool(t *testing.T) {
	m := mempool{signer: signerOf(1), queues: map[common.Address][]*types.Transaction{}}
	add := func(wallet int, nonce uint64, tip int64) *types.Transaction {
		tx, err := types.SignNewTx(network.Wallet(1, "user", wallet), m.signer, &types.DynamicFeeTx{
			ChainID: common.Big1, Nonce: nonce, GasTipCap: big.NewInt(tip), GasFeeCap: big.NewInt(100),
		})
		if err == nil {
			err = m.add(tx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	low, high, middle := add(1, 0, 5), add(1, 1, 50), add(2, 0, 20)
	if got := m.Pending(); !slices.Equal(got, []*types.Transaction{middle, low, high}) {
		t.Errorf("tips %v", tipsOf(got))
	}
	m.remove(types.NewBlockWithHeader(new(types.Header)).WithBody(types.Body{Transactions: types.Transactions{low}}))
	if got := m.Pending(); !slices.Equal(got, []*types.Transaction{high, middle}) {
		t.Errorf("after a block, tips %v", tipsOf(got))
	}
}

func tipsOf(txs []*types.Transaction) (tips []*big.Int) {
	for _, tx := range txs {
		tips = append(tips, tx.GasTipCap())
	}
	return tips
}
