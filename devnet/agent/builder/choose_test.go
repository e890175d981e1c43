package builder

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
)

// transfers are the first n transactions of each of some wallets, all first ones first.
func transfers(t *testing.T, wallets, n int) []*types.Transaction {
	t.Helper()
	var list []*types.Transaction
	for nonce := range uint64(n) {
		for i := range wallets {
			tx, err := types.SignNewTx(chaintest.Wallet("user", i), chaintest.Signer(),
				&types.DynamicFeeTx{
					ChainID: big.NewInt(chaintest.ChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
					GasFeeCap: big.NewInt(100 * params.GWei),
					Gas:       params.TxGas, To: &common.Address{1}, Value: big.NewInt(1),
				})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, tx)
		}
	}
	return list
}

// What is chosen stands in the pool's order, and of a sender either all or nothing: a gap in nonces
// would make the rest worthless.
func TestChoose(t *testing.T) {
	pending := transfers(t, 160, 3)
	for slot := range uint64(20) {
		chosen := choose(pending, 1, slot, 1000)
		if len(chosen) < len(pending)*3/4 || len(chosen) == len(pending) || len(chosen)%3 != 0 {
			t.Errorf("slot %d: %d of %d chosen", slot, len(chosen), len(pending))
		}
		at := -1
		for _, tx := range chosen {
			next := slices.Index(pending, tx)
			if next <= at {
				t.Fatalf("slot %d: transaction %d of the pool stands after transaction %d", slot, next, at)
			}
			at = next
		}
		if again := choose(pending, 1, slot, 1000); !slices.Equal(again, chosen) {
			t.Errorf("slot %d: chosen differently the second time", slot)
		}
		if other := choose(pending, 2, slot, 1000); slices.Equal(other, chosen) {
			t.Errorf("slot %d: two builders choose alike", slot)
		}
		if limited := choose(pending, 1, slot, 10); !slices.Equal(limited, chosen[:10]) {
			t.Errorf("slot %d: a limit of 10 leaves %d, or others", slot, len(limited))
		}
	}
}

func TestChooseOfNothing(t *testing.T) {
	if chosen := choose(nil, 1, 1, 10); len(chosen) != 0 {
		t.Errorf("%d chosen", len(chosen))
	}
	unsigned := types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID)})
	if chosen := choose([]*types.Transaction{unsigned}, 1, 1, 10); len(chosen) != 0 {
		t.Error("a transaction of nobody is chosen")
	}
}
