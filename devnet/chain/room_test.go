package chain

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
)

// The payment finds room in a full block: one transfer less goes in.
func TestFullBlockKeepsRoomForItsPayment(t *testing.T) {
	const limit = 5 * 21_000
	n, err := Open(Config{
		Spec: specOf(eth.Fulu), ChainID: testChainID, GasLimit: limit, Funded: []common.Address{addressOf(testKey(0)),
			addressOf(testKey(9))},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	var txs []*types.Transaction
	for nonce := range uint64(6) {
		txs = append(txs, signed(t, testKey(0), &types.DynamicFeeTx{
			ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: params.TxGas, To: &common.Address{1},
		}))
	}
	args := argsFor(n, 1, txs...)
	args.GasLimitTarget = limit
	built := land(t, n, args)
	if built.Left != 2 || len(built.Payload.Transactions) != 5 || built.PaidWei.IsZero() {
		t.Errorf("%d left out, %d in the block, %s wei paid", built.Left, len(built.Payload.Transactions), built.PaidWei)
	}
}

// Proofs in another fork's form would make a bundle that nobody can verify: such a blob transaction
// is left out.
func TestSidecarsOfAnotherForkAreLeftOut(t *testing.T) {
	for _, row := range []struct{ chain, sidecar eth.Fork }{
		{eth.Deneb, eth.Fulu}, {eth.Electra, eth.Fulu}, {eth.Fulu, eth.Deneb}, {eth.Fulu, eth.Electra},
	} {
		t.Run(row.sidecar.String()+" in "+row.chain.String(), func(t *testing.T) {
			n := opened(t, specOf(row.chain))
			wrong := blobTransaction(t, row.sidecar, testKey(1), 0, 0)
			right := blobTransaction(t, row.chain, testKey(3), 0, 1)
			built, err := n.Build(t.Context(), argsFor(n, 1, wrong, right))
			if err != nil {
				t.Fatal(err)
			}
			proofs := len(Sidecar(row.chain, 1).Proofs)
			if built.Left != 1 || len(built.Blobs.Blobs) != 1 || len(built.Blobs.Proofs) != proofs {
				t.Errorf("%d left out, %d blobs, %d proofs", built.Left, len(built.Blobs.Blobs), len(built.Blobs.Proofs))
			}
		})
	}
}
