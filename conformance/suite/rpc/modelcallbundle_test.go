package rpc

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// answerOf is the right answer to a plan whose transactions are txs.
func answerOf(steps []callStep, txs []*types.Transaction, from []common.Address) (c called) {
	fees, sent, gas, state := new(big.Int), new(big.Int), uint64(0), uint64(7)
	c.Results = slices.Grow(c.Results, len(steps))[:len(steps)]
	for i, s := range steps {
		r, used, to, value := &c.Results[i], uint64(60_000+i), sink.Hex(), "0x"
		if r.ToAddress = nil; s.kind == transferring {
			used, r.ToAddress = 21_000, &to
		}
		if s.kind == reverting {
			r.Error = json.RawMessage(`"execution reverted"`)
		}
		if s.kind == reading {
			value = fmt.Sprintf("%#064x", callTime)
		}
		want := s.predict(used)
		r.GasUsed, r.Value, r.TxHash, r.FromAddress = &used, &value, txs[i].Hash().Hex(), from[s.sender].Hex()
		r.GasFees, r.EthSentToCoinbase = &decimal{want.gasFees}, &decimal{want.ethSent}
		r.CoinbaseDiff, r.GasPrice = &decimal{want.coinbaseDiff}, &decimal{want.gasPrice}
		fees.Add(fees, want.gasFees)
		sent.Add(sent, want.ethSent)
		gas += used
	}
	all := new(big.Int).Add(fees, sent)
	c.BundleHash, c.TotalGasUsed, c.StateBlockNumber = bundleHash(txs...).Hex(), &gas, &state
	c.GasFees, c.EthSentToCoinbase, c.CoinbaseDiff = &decimal{fees}, &decimal{sent}, &decimal{all}
	c.BundleGasPrice = &decimal{new(big.Int).Div(all, new(big.Int).SetUint64(gas))}
	return c
}

// A right answer is never found wrong. An answer with one wrong thing is, under its clause.
func TestCompareCall(t *testing.T) {
	for seed := range uint64(100) {
		steps := callPlan(rand.New(rand.NewPCG(seed, 5)))
		from := []common.Address{{1}, {2}}
		var txs []*types.Transaction
		for i := range steps {
			txs = append(txs, types.NewTx(&types.LegacyTx{Nonce: uint64(i)}))
		}
		if wrong := compareCall(steps, txs, from, answerOf(steps, txs, from), 7); wrong != nil {
			t.Fatalf("seed %d: %+v", seed, wrong)
		}
		last := len(steps) - 1
		more := func(d *decimal) *decimal { return &decimal{new(big.Int).Add(d.Int, big.NewInt(1))} }
		for clause, spoil := range map[string]func(c *called){
			"RPC-CAL-01": func(c *called) { c.BundleHash = "0x" + strings.Repeat("00", 32) },
			"RPC-CAL-02": func(c *called) { c.CoinbaseDiff = more(c.CoinbaseDiff) },
			"RPC-CAL-03": func(c *called) { c.BundleGasPrice = more(c.BundleGasPrice) },
			"RPC-CAL-04": func(c *called) { *c.TotalGasUsed++ },
			"RPC-CAL-05": func(c *called) { *c.StateBlockNumber++ },
			"RPC-CAL-06": func(c *called) { c.Results[last].FromAddress = common.Address{3}.Hex() },
			"RPC-CAL-07": func(c *called) { *c.Results[last].GasUsed = 20_000 },
			"RPC-CAL-08": func(c *called) { c.EthSentToCoinbase = more(c.EthSentToCoinbase) },
			"RPC-CAL-22": func(c *called) { c.Results[last].GasFees = more(c.Results[last].GasFees) },
			"RPC-CAL-23": func(c *called) { c.Results[last].GasPrice = more(c.Results[last].GasPrice) },
		} {
			c := answerOf(steps, txs, from)
			spoil(&c)
			if wrong := compareCall(steps, txs, from, c, 7); wrong == nil || wrong.Clauses[0] != clause {
				t.Errorf("seed %d, %s: %+v", seed, clause, wrong)
			}
		}
	}
}
