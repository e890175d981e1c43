package simulate_test

import (
	"math/big"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// anyBundle draws a bundle: calls of all contracts by two senders, some out of order, some that may
// fail or go, in bundles up to two levels deep.
func anyBundle(t *rapid.T, r *testChain, depth int) *exec.Bundle {
	b := &exec.Bundle{Recipients: rapid.IntRange(0, 3).Draw(t, "recipients")}
	for range rapid.IntRange(0, 4).Draw(t, "elements") {
		if depth < 2 && rapid.Bool().Draw(t, "bundle") {
			b.Elements = append(b.Elements, inner(anyBundle(t, r, depth+1)))
			continue
		}
		from := rapid.SampledFrom([]common.Address{addressOf(user), addressOf(searcher)}).Draw(t, "from")
		to := rapid.SampledFrom([]common.Address{payer, reverter, witness, counter, toFail, {1}}).Draw(t, "to")
		key := user
		if from == addressOf(searcher) {
			key = searcher
		}
		value, gas := rapid.Uint64Range(0, ether).Draw(t, "value"), rapid.Uint64Range(20_000, 120_000).Draw(t, "gas")
		tx := r.callWith(key, to, value, gas, func(d *types.DynamicFeeTx) {
			if rapid.IntRange(0, 9).Draw(t, "skip") == 0 {
				d.Nonce++
			}
			d.GasTipCap = new(big.Int).SetUint64(rapid.Uint64Range(0, 5*gwei).Draw(t, "tip"))
		})
		tx.CanRevert, tx.CanDrop = rapid.Bool().Draw(t, "revert"), rapid.Bool().Draw(t, "drop")
		b.Elements = append(b.Elements, element(tx))
	}
	if len(b.Elements) > 1 && rapid.Bool().Draw(t, "refund") {
		b.Refunds = []exec.Refund{{Element: rapid.IntRange(0, len(b.Elements)-1).Draw(t, "element"),
			Percent: rapid.IntRange(0, 100).Draw(t, "percent")}}
	}
	return b
}

// Nothing that is simulated is seen by anybody else, or by the next simulation: two runs say the
// same, and the chain has what it had.
func TestSimulationsLeaveNothing(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	r.grow(t, r.call(user, counter, 0, 60_000))
	root, rich, earned := r.chain.CurrentBlock().Root, r.balance(t, addressOf(user)), r.balance(t, coinbase)
	rapid.Check(t, func(t *rapid.T) {
		r.nonces = map[common.Address]uint64{addressOf(user): 1}
		bundle := anyBundle(t, r, 1)
		var runs [2]*exec.BundleResult
		for i := range runs {
			var err error
			if runs[i], err = r.Simulate(t.Context(), bundle, latest); err != nil {
				t.Fatal(err)
			}
		}
		if !same(runs[0], runs[1]) {
			t.Fatalf("%+v, then %+v", runs[0], runs[1])
		}
		checkBundle(t, bundle, runs[0])
	})
	if r.chain.CurrentBlock().Root != root || !r.balance(t, addressOf(user)).Eq(rich) ||
		!r.balance(t, coinbase).Eq(earned) {
		t.Error("the chain's state has changed")
	}
}

// checkBundle holds for every success: what the transactions paid is the profit and the top level's
// payouts, and gas is theirs and the payouts'.
func checkBundle(t *rapid.T, bundle *exec.Bundle, result *exec.BundleResult) {
	if !result.Success {
		if result.Error == "" || !result.MevGasPriceWei.IsZero() {
			t.Fatalf("%+v", result)
		}
		return
	}
	sum, gas := new(uint256.Int), uint64(0)
	for _, tx := range result.Txs {
		sum.Add(sum, tx.CoinbaseDiffWei)
		gas += tx.GasUsed
	}
	for _, refund := range bundle.Refunds {
		payout := new(uint256.Int).Mul(result.RefundableWei, uint256.NewInt(uint64(refund.Percent)))
		sum.Sub(sum, payout.Div(payout, uint256.NewInt(100)))
	}
	if !sum.Eq(result.ProfitWei) || gas+payouts(bundle)*30_000 != result.GasUsed {
		t.Fatalf("%s wei less payouts, %d gas with %d payouts: %+v", sum.Dec(), gas, payouts(bundle), result)
	}
}

// payouts counts recipients on all levels.
func payouts(bundle *exec.Bundle) uint64 {
	count := 0
	for _, refund := range bundle.Refunds {
		count++
		if b := bundle.Elements[refund.Element].Bundle; b != nil {
			count += max(b.Recipients, 1) - 1
		}
	}
	all := uint64(count)
	for _, e := range bundle.Elements {
		if e.Bundle != nil {
			all += payouts(e.Bundle)
		}
	}
	return all
}

// Many may simulate the same transactions at once, while blocks come.
func TestConcurrentSimulations(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	parent := r.chain.CurrentBlock().Hash()
	env := exec.Environment{ParentHash: parent}
	txs := []exec.Tx{r.call(user, counter, 0, 60_000), r.call(searcher, payer, 5, 60_000),
		r.call(user, reverter, 0, 60_000)}
	want := r.mustCall(t, env, txs...)
	bundle := r.mustSimulate(t, env, bundleOf(txs[0], txs[1]))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				result, err := r.Call(t.Context(), txs, env)
				if err != nil || !same(result, want) {
					t.Errorf("%+v, %v", result, err)
				}
				again, err := r.Simulate(t.Context(), bundleOf(txs[0], txs[1]), env)
				if err != nil || !same(again, bundle) {
					t.Errorf("%+v, %v", again, err)
				}
			}
		})
	}
	r.nonces = map[common.Address]uint64{}
	for range 3 {
		r.grow(t, r.call(user, counter, 0, 60_000))
	}
	group.Wait()
}

// A bundle has no more blobs than a block may have; a list of transactions may.
func TestBlobs(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	var txs []exec.Tx
	for range 3 { // of six blobs each: more than the usual limit of 9
		txs = append(txs, r.blobs(user, 6))
	}
	if got := r.mustCall(t, latest, txs...); got.Results[2].BlobGasUsed != 6*131_072 {
		t.Errorf("%+v", got.Results[2])
	}
	got := r.mustSimulate(t, latest, bundleOf(txs...))
	if got.Success || got.Error != "blob gas limit reached: have 393216, want 786432" || got.Lasting {
		t.Errorf("%+v", got)
	}
	dear := latest
	dear.ExcessBlobGas = new(^uint64(0)) // the fee is beyond all ether, and found at once
	if got := r.mustSimulate(t, dear, bundleOf(txs[0])); got.Success {
		t.Errorf("%+v", got)
	}
}
