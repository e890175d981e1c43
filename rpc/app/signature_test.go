package app

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/rpc"
)

// A transaction whose signature has the right form and is nobody's is taken, since nobody needs its
// sender yet. Its simulation ends the order for good, and no builder hears of it.
func TestSignatureOfNobodyFailsTheOrder(t *testing.T) {
	h := openService(t, nil)
	to := common.Address{1}
	tx := types.NewTx(&types.DynamicFeeTx{ // no point has 5 for x
		ChainID: big.NewInt(chainID), Gas: 21_000, GasFeeCap: big.NewInt(1e11), To: &to, V: big.NewInt(0),
		R: big.NewInt(5), S: big.NewInt(1),
	})
	var got taken
	h.want(&got, accountKey(7), "eth_sendBundle", map[string]any{"txs": []string{rawOf(tx)}})
	end := waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == got.BundleHash })
	if end.State != rpc.Failed || !strings.Contains(end.Reason, "invalid signature: transaction "+tx.Hash().Hex()) {
		t.Errorf("%s: %s", end.State, end.Reason)
	}
	if len(h.builder.got) > 0 {
		t.Errorf("the builder got %s", (<-h.builder.got).body)
	}
}
