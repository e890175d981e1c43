package chain

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A fork of a draft goes its own way: both become blocks that the chain accepts, each with its own
// transactions and payment.
func TestForksOfADraft(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	args := argsFor(n, 1)
	draft, err := n.Draft(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(d *Draft, tx *types.Transaction) {
		t.Helper()
		out, err := d.Apply(t.Context(), tx)
		if err != nil || !out.Succeeded || out.GasUsed != params.TxGas ||
			!out.PaidWei.Eq(uint256.NewInt(params.TxGas*params.GWei)) {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	common1 := transfer(t, testKey(0), 0, common.Address{1})
	apply(draft, common1)
	fork := draft.Fork()
	apply(draft, blobTransaction(t, eth.Fulu, testKey(1), 0, 0))
	apply(fork, transfer(t, testKey(0), 1, common.Address{2}))
	apply(fork, transfer(t, testKey(0), 2, common.Address{2}))

	for _, c := range []struct {
		draft      *Draft
		txs, blobs int
	}{{draft, 2, 1}, {fork, 3, 0}} {
		if !c.draft.Has(common1.Hash()) || c.draft.Number() != 1 {
			t.Error("the beginning is not there")
		}
		gain := c.draft.GainWei()
		built, err := c.draft.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := len(built.Payload.Transactions); got != c.txs+1 || len(built.Blobs.Blobs) != c.blobs ||
			!built.CoinbaseGainWei.Eq(gain) {
			t.Errorf("%d transactions, %d blobs, gain %s; want %d and the payment, %d, %s", got, len(built.Blobs.Blobs),
				built.CoinbaseGainWei,
				c.txs, c.blobs, gain)
		}
		importBuilt(t, n, built, args)
	}
}

// A transaction that was applied once cannot be applied again, and one that is too great has no
// room; neither leaves a trace.
func TestDraftRefuses(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	draft, err := n.Draft(t.Context(), argsFor(n, 1))
	if err != nil {
		t.Fatal(err)
	}
	tx := transfer(t, testKey(0), 0, common.Address{1})
	if _, err := draft.Apply(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	gain := draft.GainWei()
	if _, err := draft.Apply(t.Context(), tx); err == nil {
		t.Error("a transaction is applied twice")
	}
	great := signed(t, testKey(1), &types.LegacyTx{Gas: defaultGasLimit,
		GasPrice: uint256.NewInt(100 * params.GWei).ToBig(), To: &common.Address{1}})
	if _, err := draft.Apply(t.Context(), great); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a transaction that takes the whole block: %v", err)
	}
	if !draft.GainWei().Eq(gain) {
		t.Errorf("the coinbase has %s wei, want %s", draft.GainWei(), gain)
	}
}
