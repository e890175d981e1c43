package rpc

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// The model of eth_callBundle: random bundles of transfers, payments to the fee recipient, reverts
// and contracts, of two senders with tips to the wei. All of the answer is predicted but the gas
// that code uses, which is the fork's; what follows from it is predicted from it.

// The kinds of a transaction of a plan.
const (
	transferring = "transfers"
	paying       = "pays the fee recipient"
	reverting    = "reverts with"
	reading      = "reads the time with"
)

// codeOf has the code of each kind; a transfer has none.
var codeOf = map[string]string{transferring: "", paying: codePayment, reverting: codeRevert, reading: codeTime}

// callStep is a transaction of a bundle.
type callStep struct {
	kind             string
	sender           int
	valueWei, tipWei int64
}

// String implements fmt.Stringer.
func (s callStep) String() string {
	return fmt.Sprintf("sender %c %s %d wei, tip %d wei", 'A'+s.sender, s.kind, s.valueWei, s.tipWei)
}

// callPlan makes the transactions of a random bundle.
func callPlan(random *rand.Rand) (plan []callStep) {
	kinds := []string{transferring, paying, reverting, reading}
	for range 1 + random.IntN(6) {
		s := callStep{kind: kinds[random.IntN(len(kinds))], sender: random.IntN(2)}
		s.tipWei = 1 + random.Int64N(3_000_000_000)
		if s.kind != reading {
			s.valueWei = random.Int64N(1_000_000_000_000)
		}
		plan = append(plan, s)
	}
	return plan
}

// callTime is the time that bundles of plans are simulated at.
const callTime = 4_000_000_000

// resultOf is what a transaction's element of results must say, after the gas that it says it
// used.
type resultOf struct{ gasFees, ethSent, coinbaseDiff, gasPrice *big.Int }

// predict predicts amounts of a transaction that uses so much gas.
func (s callStep) predict(gasUsed uint64) resultOf {
	gas := new(big.Int).SetUint64(gasUsed)
	r := resultOf{gasFees: new(big.Int).Mul(gas, big.NewInt(s.tipWei)), ethSent: new(big.Int)}
	if s.kind == paying {
		r.ethSent.SetInt64(s.valueWei)
	}
	r.coinbaseDiff = new(big.Int).Add(r.gasFees, r.ethSent)
	r.gasPrice = new(big.Int).Div(r.coinbaseDiff, gas)
	return r
}

// gasFits says whether a transaction may use so much gas: a transfer uses what the protocol says,
// and a creation at least that of its beginning.
func (s callStep) gasFits(gasUsed uint64) bool {
	if s.kind == transferring {
		return gasUsed == 21_000
	}
	return gasUsed > 53_000 && gasUsed <= 200_000
}

// wrongCall is a mismatch at a transaction.
func wrongCall(step int, clause, expected string, actual any) *suite.Mismatch {
	return &suite.Mismatch{Step: step, Clauses: []string{clause}, Expected: expected, Actual: actual}
}

// compareResult compares the element of the transaction at a place, whose sender is given.
func (s callStep) compareResult(i int, tx *types.Transaction, from common.Address, c called) *suite.Mismatch {
	r := c.Results[i]
	shown := fmt.Sprintf("%+v", r)
	if r.GasUsed == nil || !s.gasFits(*r.GasUsed) {
		return wrongCall(i, "RPC-CAL-07", "gasUsed of what it does", shown)
	}
	want := s.predict(*r.GasUsed)
	for _, amount := range []struct {
		name, clause string
		want         *big.Int
		got          *decimal
	}{
		{"gasFees", "RPC-CAL-22", want.gasFees, r.GasFees},
		{"ethSentToCoinbase", "RPC-CAL-22", want.ethSent, r.EthSentToCoinbase},
		{"coinbaseDiff", "RPC-CAL-22", want.coinbaseDiff, r.CoinbaseDiff},
		{"gasPrice", "RPC-CAL-23", want.gasPrice, r.GasPrice},
	} {
		if amount.got == nil || amount.got.Cmp(amount.want) != 0 {
			return wrongCall(i, amount.clause, amount.name+" "+amount.want.String(), amount.got)
		}
	}
	named := strings.EqualFold(r.TxHash, tx.Hash().Hex()) && strings.EqualFold(r.FromAddress, from.Hex())
	if s.kind == transferring {
		named = named && r.ToAddress != nil && strings.EqualFold(*r.ToAddress, sink.Hex())
	}
	if !named {
		return wrongCall(i, "RPC-CAL-06", fmt.Sprintf("%s from %s", tx.Hash(), from), shown)
	}
	if failed := r.Error != nil && string(r.Error) != "null"; failed != (s.kind == reverting) {
		return wrongCall(i, "RPC-CAL-09", "an error just for a revert", shown)
	}
	if s.kind == reading &&
		(r.Value == nil || new(big.Int).SetBytes(common.FromHex(*r.Value)).Cmp(big.NewInt(callTime)) != 0) {
		return wrongCall(i, "RPC-CAL-15", fmt.Sprintf("the time %d in value", callTime), shown)
	}
	return nil
}

// compareCall compares an answer, whose members are all there, with the prediction for the steps,
// whose transactions are from the given senders on the state of a block.
func compareCall(steps []callStep, txs []*types.Transaction, from []common.Address, c called,
	state uint64) *suite.Mismatch {
	fees, sent, gas := new(big.Int), new(big.Int), uint64(0)
	for i, s := range steps {
		if wrong := s.compareResult(i, txs[i], from[s.sender], c); wrong != nil {
			return wrong
		}
		gas += *c.Results[i].GasUsed
		fees.Add(fees, s.predict(*c.Results[i].GasUsed).gasFees)
		sent.Add(sent, s.predict(*c.Results[i].GasUsed).ethSent)
	}
	all := new(big.Int).Add(fees, sent)
	price := new(big.Int).Div(all, new(big.Int).SetUint64(gas))
	for _, row := range []struct {
		clause, name string
		want, got    any
	}{
		{"RPC-CAL-01", "bundleHash", strings.ToLower(bundleHash(txs...).Hex()), strings.ToLower(c.BundleHash)},
		{"RPC-CAL-04", "totalGasUsed", gas, *c.TotalGasUsed},
		{"RPC-CAL-02", "gasFees", fees, c.GasFees},
		{"RPC-CAL-08", "ethSentToCoinbase", sent, c.EthSentToCoinbase},
		{"RPC-CAL-02", "coinbaseDiff", all, c.CoinbaseDiff},
		{"RPC-CAL-03", "bundleGasPrice", price, c.BundleGasPrice},
		{"RPC-CAL-05", "stateBlockNumber", state, *c.StateBlockNumber},
	} {
		if fmt.Sprint(row.want) != fmt.Sprint(row.got) {
			return wrongCall(len(steps)-1, row.clause, fmt.Sprint(row.name, " ", row.want), row.got)
		}
	}
	return nil
}

const (
	callBundles = 12
	callTries   = 12
)

// describeCallModel: eth_callBundle of random bundles.
func describeCallModel(s *suite.Set) {
	s.It("RPC-MOD-01", "simulates random bundles to the wei", func(t *suite.T) {
		senders := []*wallet{newWallet(t), newWallet(t)}
		from := []common.Address{senders[0].address(), senders[1].address()}
		first := []uint64{senders[0].next, senders[1].next} // a simulation uses up no nonce
		for range callBundles {
			suite.JudgePlan(t, callPlan(t.Random), callTries, func(steps []callStep) *suite.Mismatch {
				var txs []*types.Transaction
				for i, w := range senders {
					w.next = first[i]
				}
				for _, s := range steps {
					inner := &types.DynamicFeeTx{Gas: 200_000, Value: big.NewInt(s.valueWei),
						Data: common.FromHex(codeOf[s.kind]), GasTipCap: big.NewInt(s.tipWei), GasFeeCap: big.NewInt(feeCapWei)}
					if s.kind == transferring {
						inner.To = &sink
					}
					txs = append(txs, senders[s.sender].sign(inner))
				}
				number := head(t)
				c := simulate(t, object{"timestamp": callTime, "blockNumber": hexNumber(number + 1),
					"stateBlockNumber": hexNumber(number)}, txs...)
				return compareCall(steps, txs, from, c, number)
			})
		}
	})
}
