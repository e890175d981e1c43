package simulate_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// The transactions of docs/spec.md, Bundle hash 4: A pays 21,000 gas × 1 gwei, B and C pay 0.1
// ether to the coinbase besides 30,342 gas × 1 gwei each.
const (
	rawA = "0x02f86b0180843b9aca00852ecc889a0082520894c87037874aed04e51c29f582394217a0a2b89d808080c080a0a463985c616dd8e" +
		"e17d7ef9112af4e6e06a27b071525b42182fe7b0b5c8b4925a00af5ca177ffef2ff28449292505d41be578bebb77110dfc09361d2fb56998260"
	rawB = "0x02f8730180843b9aca00852ecc889a008288b894c10000000000000000000000000000000000000088016345785d8a000080c001a" +
		"07c8890151fed9a826f241d5a37c84062ebc55ca7f5caef4683dcda6ac99dbffba069108de72e4051a764f69c51a6b718afeff4299107963a" +
		"5d84d5207b2d6932a4"
	rawC = "0x02f8730101843b9aca00852ecc889a008288b894c10000000000000000000000000000000000000088016345785d8a000080c001a" +
		"0650c394d77981e46be3d8cf766ecc435ec3706375baed06eb9bef21f9da2828da064965fdf88b91575cd74f20301649c9d011b234cefb6c1" +
		"761cc5dd579e4750b1"

	paysA = 21_000 * gwei
	// paysB is V of docs/spec.md, Payouts 2; C pays the same.
	paysB = 100_030_342_000_000_000

	baseFeeWei = 200 * gwei
	payoutWei  = 30_000 * baseFeeWei // for each recipient
)

// decoded is a transaction as it comes.
func decoded(t testing.TB, raw string) exec.Tx {
	t.Helper()
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(common.FromHex(raw)); err != nil {
		t.Fatal(err)
	}
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(1)), tx)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Tx{Transaction: tx, From: from}
}

// scenario is the chain of the vectors: block 1, base fee 200 gwei, 30 million gas.
func scenario(t testing.TB) (r *testChain, env exec.Environment, a, b, c exec.Tx) {
	a, b, c = decoded(t, rawA), decoded(t, rawB), decoded(t, rawC)
	r = openChain(t, eth.Bellatrix, simulate.Options{}, a.From, b.From)
	env = exec.Environment{Number: 1, BaseFeeWei: uint256.NewInt(baseFeeWei), Coinbase: &coinbase, GasLimit: 30_000_000}
	return r, env, a, b, c
}

func element(tx exec.Tx) exec.Element             { return exec.Element{Tx: &tx} }
func inner(bundle *exec.Bundle) exec.Element      { return exec.Element{Bundle: bundle} }
func allowed(tx exec.Tx) exec.Tx                  { tx.CanRevert = true; return tx }
func droppable(tx exec.Tx) exec.Tx                { tx.CanDrop = true; return tx }
func percentOf(wei uint64, percent uint64) uint64 { return wei / 100 * percent } // the amounts are multiples of 100

// The nine vectors that are published with mev_simBundle (docs/spec.md, Simulation), on a chain
// that is made anew: payouts of 90 % of V, of halves of it, and of 80 % for a second backrun.
func TestVectors(t *testing.T) {
	r, env, a, b, c := scenario(t)
	reverting := r.call(user, reverter, 0, 60_000)
	wrongNonce := r.callWith(searcher, common.Address{1}, 0, 21_000, func(d *types.DynamicFeeTx) { d.Nonce = 9 })
	ninety := []exec.Refund{{Element: 0, Percent: 90}}
	backrun := &exec.Bundle{Elements: []exec.Element{element(a), element(b)}, Refunds: ninety}
	for _, row := range []struct {
		name               string
		bundle             *exec.Bundle
		error              string // empty for success; else the beginning
		profit, refundable uint64
		gas                uint64
	}{
		{"simple", bundleOf(a, b), "", paysA + paysB, paysA + paysB, 51_342},
		{"reverting", bundleOf(a, reverting), "tx failed", paysA, paysA, 21_000},
		{"nonce mismatch", bundleOf(a, wrongNonce), "nonce too high", paysA, paysA, 21_000},
		{"reverting, allowed", bundleOf(a, allowed(reverting)), "", paysA + 21_018*gwei, paysA + 21_018*gwei, 42_018},
		{"nonce mismatch, allowed", bundleOf(a, allowed(wrongNonce)), "nonce too high", paysA, paysA, 21_000},
		{"backrun of a transaction", backrun, "", paysA + paysB - percentOf(paysB, 90), paysB, 81_342},
		{
			"backrun of a bundle", &exec.Bundle{Elements: []exec.Element{inner(bundleOf(a)), element(b)}, Refunds: ninety},
			"", paysA + paysB - percentOf(paysB, 90), paysB, 81_342,
		},
		{
			"backrun of a bundle of two", &exec.Bundle{
				Elements: []exec.Element{inner(&exec.Bundle{Elements: []exec.Element{element(a)}, Recipients: 2}), element(b)},
				Refunds:  ninety,
			}, "", paysA + paysB - percentOf(paysB, 90), paysB, 111_342,
		},
		{
			"backrun of a backrun", &exec.Bundle{
				Elements: []exec.Element{inner(backrun), element(c)}, Refunds: []exec.Refund{{Element: 0, Percent: 80}},
			}, "", paysA + 2*paysB - percentOf(paysB, 80), paysB, 141_684,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := r.mustSimulate(t, env, row.bundle)
			if got.Success != (row.error == "") || !strings.HasPrefix(got.Error, row.error) {
				t.Errorf("success %t, error %q, want %q", got.Success, got.Error, row.error)
			}
			if (got.FailedTx == common.Hash{}) != (row.error == "" || row.error == "negative profit") {
				t.Errorf("transaction %s failed: %q", got.FailedTx, got.Error)
			}
			if got.ProfitWei.Uint64() != row.profit || got.RefundableWei.Uint64() != row.refundable || got.GasUsed != row.gas {
				t.Errorf("profit %s, refundable %s, gas %d; want %d, %d, %d",
					got.ProfitWei.Dec(), got.RefundableWei.Dec(), got.GasUsed, row.profit, row.refundable, row.gas)
			}
			if got.Success && got.MevGasPriceWei.Uint64() != row.profit/row.gas {
				t.Errorf("mev gas price %s", got.MevGasPriceWei.Dec())
			}
		})
	}
}

// docs/spec.md, Payouts 2: worked payouts for V: what the recipient gets is the payout less its own
// gas.
func TestWorkedPayouts(t *testing.T) {
	r, env, a, b, _ := scenario(t)
	for _, row := range []struct{ recipients, each uint64 }{{1, 84_027_307_800_000_000}, {2, 39_013_653_900_000_000}} {
		got := r.mustSimulate(t, env, &exec.Bundle{
			Elements: []exec.Element{inner(&exec.Bundle{Elements: []exec.Element{element(a)}, Recipients: int(row.recipients)}),
				element(b)},
			Refunds: []exec.Refund{{Element: 0, Percent: 90}},
		})
		kept := got.ProfitWei.Uint64() - paysA
		if each := (got.RefundableWei.Uint64() - kept - row.recipients*payoutWei) / row.recipients; each != row.each {
			t.Errorf("%d recipients: %d wei each, want %d", row.recipients, each, row.each)
		}
	}
}

// A payout that is not worth its gas, and a bundle that costs the coinbase more than it brings,
// fail.
func TestNegativeProfit(t *testing.T) {
	r, env, a, b, _ := scenario(t)
	free := func(d *types.DynamicFeeTx) { d.GasTipCap = new(big.Int) }
	takes := r.callWith(user, splitter, 0, 60_000, free)
	small := &exec.Bundle{Elements: []exec.Element{element(a), element(b)},
		Refunds: []exec.Refund{{Element: 0, Percent: 5}}}
	robbed := env
	robbed.Coinbase = &splitter // a coinbase whose code gives a wei to whoever calls it
	for name, row := range map[string]struct {
		env    exec.Environment
		bundle *exec.Bundle
	}{
		// 5 % of V are 5 finney, the gas of a payout 6.
		"payout below its gas":    {env, small},
		"payout below it, inside": {env, &exec.Bundle{Elements: []exec.Element{inner(small)}}},
		"nothing to refund": {env, &exec.Bundle{Elements: []exec.Element{element(a)},
			Refunds: []exec.Refund{{Element: 0, Percent: 90}}}},
		"the coinbase gets poorer": {robbed, bundleOf(takes)},
		"refunds of what is not there": {robbed, &exec.Bundle{
			Elements: []exec.Element{element(takes), element(a)}, Refunds: []exec.Refund{{Element: 1, Percent: 90}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.mustSimulate(t, row.env, row.bundle)
			if got.Success || got.Error != "negative profit" || got.Lasting || !got.MevGasPriceWei.IsZero() || got.Logs != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What may be dropped goes without a trace; what may revert stays and pays.
func TestDrop(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	reverting, next := r.call(user, reverter, 0, 60_000), r.call(searcher, counter, 0, 60_000)
	wrong := r.callWith(testKey("poor"), counter, 0, 60_000, nil)
	succeeding := r.callWith(user, counter, 0, 60_000, func(d *types.DynamicFeeTx) { d.Nonce = 0 })
	for name, row := range map[string]struct {
		tx      exec.Tx
		dropped bool
		error   string
	}{
		"reverts, may be dropped":            {droppable(reverting), true, ""},
		"reverts, may be dropped or stay":    {allowed(droppable(reverting)), false, ""},
		"cannot be included, may be dropped": {droppable(wrong), true, ""},
		"cannot be included, may not":        {allowed(wrong), false, "insufficient funds"},
		"succeeds, may be dropped":           {droppable(succeeding), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.mustSimulate(t, latest, bundleOf(row.tx, next))
			if !strings.HasPrefix(got.Error, row.error) || got.Success != (row.error == "") {
				t.Fatalf("%+v", got)
			}
			if !got.Success {
				return
			}
			first, second := got.Txs[0], got.Txs[1]
			if first.Dropped != row.dropped || row.dropped && (first.GasUsed != 0 || len(first.Logs) != 0 ||
				!first.CoinbaseDiffWei.IsZero()) {
				t.Errorf("%+v", first)
			}
			if sum := first.GasUsed + second.GasUsed; got.GasUsed != sum || got.ProfitWei.Uint64() != sum*gwei {
				t.Errorf("%d gas and %s wei, want %d gas", got.GasUsed, got.ProfitWei.Dec(), sum)
			}
			place := uint(1)
			if row.dropped {
				place = 0
				alone := r.mustSimulate(t, latest, bundleOf(next))
				if !same(alone.Txs[0], second) {
					t.Errorf("without it: %+v, with it: %+v", alone.Txs[0], second)
				}
			}
			if second.Logs[0].TxIndex != place {
				t.Errorf("the next is transaction %d of its block", second.Logs[0].TxIndex)
			}
		})
	}
}

// Logs mirror the bundle; the last failed execution is told even if it was allowed.
func TestLogsAndRevert(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	one, failing, two := r.call(user, counter, 0, 60_000), r.call(user, reverter, 0, 60_000),
		r.call(user, counter, 0, 60_000)
	got := r.mustSimulate(t, latest, &exec.Bundle{Elements: []exec.Element{
		element(one), inner(bundleOf(allowed(failing), two)), inner(&exec.Bundle{}),
	}})
	if !got.Success || got.ExecErr == nil || got.ExecErr.Error() != "execution reverted" ||
		new(big.Int).SetBytes(got.Revert).Int64() != 42 {
		t.Fatalf("%+v", got)
	}
	inside := got.Logs[1].Bundle
	shape := fmt.Sprint(len(got.Logs), len(got.Logs[0].Tx), len(inside), len(inside[0].Tx), len(inside[1].Tx),
		len(got.Logs[2].Bundle))
	if shape != "3 1 2 0 1 0" {
		t.Errorf("shape of logs: %s", shape)
	}
	if count := new(big.Int).SetBytes(inside[1].Tx[0].Data); count.Int64() != 2 || len(got.Txs) != 3 {
		t.Errorf("the counter says %s after two calls; %d results", count, len(got.Txs))
	}
}

// Lasting is what no later block can change; everything else may be tried again.
func TestLasting(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	r.grow(t, r.call(user, common.Address{1}, 1, 21_000))
	at := func(nonce uint64, more ...func(*types.DynamicFeeTx)) exec.Tx {
		return r.callWith(user, counter, 0, 60_000, func(d *types.DynamicFeeTx) {
			d.Nonce = nonce
			for _, change := range more {
				change(d)
			}
		})
	}
	feeCap := func(wei int64) func(*types.DynamicFeeTx) {
		return func(d *types.DynamicFeeTx) { d.GasFeeCap = big.NewInt(wei) }
	}
	tip := func(wei int64) func(*types.DynamicFeeTx) {
		return func(d *types.DynamicFeeTx) { d.GasTipCap = big.NewInt(wei) }
	}
	gas := func(gas uint64) func(*types.DynamicFeeTx) { return func(d *types.DynamicFeeTx) { d.Gas = gas } }
	fortune := func(d *types.DynamicFeeTx) { d.Value = new(big.Int).Lsh(big.NewInt(1), 255) }
	deep := &exec.Bundle{}
	for range 5 {
		deep = &exec.Bundle{Elements: []exec.Element{inner(deep)}}
	}
	for name, row := range map[string]struct {
		bundle  *exec.Bundle
		error   string
		lasting bool
	}{
		"nonce too low": {bundleOf(at(0)), "nonce too low", true},
		"nonce too low, inside": {&exec.Bundle{Elements: []exec.Element{inner(bundleOf(at(0)))}},
			"nonce too low", true},
		"nonce used by the bundle itself": {bundleOf(at(1), at(1, gas(70_000))), "nonce too low", false},
		"nonce too high":                  {bundleOf(at(2)), "nonce too high", false},
		"tip above fee cap":               {bundleOf(at(1, tip(2000*gwei))), "max priority fee", true},
		"fee cap below base fee":          {bundleOf(at(1, tip(0), feeCap(0))), "max fee", false},
		"too little gas to be anything":   {bundleOf(at(1, gas(20_000))), "intrinsic gas too low", true},
		"a value that nobody has":         {bundleOf(at(1, fortune)), "insufficient funds", false},
		"too deep":                        {deep, "max depth reached", true},
		"an element that is nothing":      {&exec.Bundle{Elements: []exec.Element{{}}}, "invalid bundle", true},
		"a refund for nobody": {&exec.Bundle{Refunds: []exec.Refund{{Element: 0, Percent: 1}}},
			"invalid bundle", true},
		"a refund for a negative position": {&exec.Bundle{Refunds: []exec.Refund{{Element: -1, Percent: 1}}},
			"invalid bundle", true},
		"a refund of 101 percent": {
			&exec.Bundle{Elements: []exec.Element{element(at(1))}, Refunds: []exec.Refund{{Percent: 101}}},
			"invalid bundle", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.mustSimulate(t, latest, row.bundle)
			if got.Success || !strings.HasPrefix(got.Error, row.error) || got.Lasting != row.lasting {
				t.Errorf("error %q, lasting %t, want %q, %t", got.Error, got.Lasting, row.error, row.lasting)
			}
			if got.Parent.Hash() != r.chain.CurrentBlock().Hash() {
				t.Error("the answer does not name its state")
			}
		})
	}
}

// An empty bundle earns nothing, and divides by nothing.
func TestEmptyBundle(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	if got := r.mustSimulate(t, latest, &exec.Bundle{}); !got.Success || !got.ProfitWei.IsZero() ||
		!got.MevGasPriceWei.IsZero() || got.GasUsed != 0 {
		t.Errorf("%+v", got)
	}
}

// What is dropped takes no room in the block either.
func TestDroppedTakesNoRoom(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	env := latest
	env.GasLimit = 60_000
	got := r.mustSimulate(t, env, bundleOf(droppable(r.call(user, reverter, 0, 60_000)),
		r.call(searcher, counter, 0, 60_000)))
	if !got.Success || !got.Txs[0].Dropped {
		t.Errorf("%+v", got)
	}
}

// A payout that is worth exactly its gas is made; with a wei less it is not.
func TestSmallestPayout(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	env := latest
	env.BaseFeeWei = uint256.NewInt(gwei)
	free := func(d *types.DynamicFeeTx) { d.Nonce, d.GasTipCap = 0, new(big.Int) }
	for value, success := range map[uint64]bool{30_000 * gwei: true, 30_000*gwei - 1: false} {
		first, backrun := r.callWith(user, common.Address{1}, 0, 21_000, free), r.callWith(searcher, payer, value,
			60_000, free)
		bundle := bundleOf(first, backrun)
		bundle.Refunds = []exec.Refund{{Element: 0, Percent: 100}}
		if got := r.mustSimulate(t, env, bundle); got.Success != success || got.RefundableWei.Uint64() != value {
			t.Errorf("%d wei: %+v", value, got)
		}
	}
}
