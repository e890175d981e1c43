package simulate_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// What nobody has signed runs whatever its nonce is and without fees, one after the other, and what
// comes after it with a signature is judged as always.
func TestUnsigned(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	unsigned := func(from, to common.Address, value int64) exec.Tx {
		return exec.Tx{
			Transaction: types.NewTx(&types.LegacyTx{To: &to, Gas: 1 << 24, GasPrice: new(big.Int), Value: big.NewInt(value)}),
			From:        from, Unsigned: true,
		}
	}
	poor := common.Address{0x99}
	before := r.balance(t, addressOf(user))
	got := r.mustCall(t, latest,
		unsigned(addressOf(searcher), poor, 5), unsigned(poor, counter, 0), unsigned(poor, counter, 0), r.call(user, counter,
			0, 100_000), unsigned(poor, reverter, 0))
	for i, want := range []struct {
		gas    uint64
		failed bool
	}{{21_000, false}, {got.Results[1].GasUsed, false}, {got.Results[2].GasUsed, false}, {got.Results[2].GasUsed, false},
		{got.Results[4].GasUsed, true}} {
		result := got.Results[i]
		if result.GasUsed != want.gas || (result.Err != nil) != want.failed || result.GasUsed < 21_000 {
			t.Errorf("%d: gas %d, %v; want %d, failed %t", i, result.GasUsed, result.Err, want.gas, want.failed)
		}
		if signed := i == 3; result.CoinbaseDiffWei.IsZero() == signed {
			t.Errorf("%d: paid %s", i, result.CoinbaseDiffWei.Dec())
		}
	}
	if last := got.Results[3].Return; len(last) != 32 || last[31] != 3 {
		t.Errorf("the third call of the counter returned %x", last)
	}
	if after := r.balance(t, addressOf(user)); !after.Eq(before) {
		t.Errorf("the state changed: %s, before %s", after.Dec(), before.Dec())
	}
	if _, err := r.Call(t.Context(), []exec.Tx{unsigned(poor, counter, 1)}, latest); err == nil {
		t.Error("value that the sender does not have was sent")
	}
	free := r.callWith(searcher, counter, 0, 100_000, func(d *types.DynamicFeeTx) {
		d.GasFeeCap, d.GasTipCap = new(big.Int), new(big.Int)
	})
	if _, err := r.Call(t.Context(), []exec.Tx{unsigned(poor, counter, 0), free}, latest); err == nil {
		t.Error("a signed transaction without fees was included")
	}
}
