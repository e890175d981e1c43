package rpc

import (
	"fmt"
	"math/big"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// exact: amounts of bundles with several transactions, and refusals at the very edge.
func exact(s *suite.Set) {
	s.It("RPC-CAL-03", "divides by the gas of all transactions", func(t *suite.T) {
		w := money(t)
		c := simulate(t, nil, w.send(1), w.create(1e15, codePayment))
		want := new(big.Int).Div(c.CoinbaseDiff.Int, new(big.Int).SetUint64(*c.TotalGasUsed))
		t.Check(c.BundleGasPrice.Cmp(want) == 0, "bundleGasPrice "+want.String(), c.BundleGasPrice)
	})
	s.It("RPC-CAL-04", "adds up the gas also of what reverts", func(t *suite.T) {
		w := money(t)
		c := simulate(t, nil, w.create(0, codeRevert), w.send(1))
		sum := uint64(0)
		for _, r := range c.Results {
			t.Check(r.GasUsed != nil && *r.GasUsed > 0, "gasUsed as a number", r)
			sum += *r.GasUsed
		}
		t.Check(*c.TotalGasUsed == sum, fmt.Sprintf("totalGasUsed %d", sum), *c.TotalGasUsed)
	})
	// two makes a bundle in which the second of two signers pays, and what the first one pays.
	two := func(t *suite.T) (params object, ownWei *big.Int) {
		owner, searcher := money(t), money(t)
		return now(t, owner.send(1), searcher.create(1e17, codePayment)), big.NewInt(21000 * tipWei)
	}
	refunds := func(list ...object) object { return object{"validity": object{"refund": list}} }
	s.It("RPC-SIM-07", "counts what elements without a refund bring, and no others", func(t *suite.T) {
		params, own := two(t)
		full := isHex(t, works(t, params), "profit")
		got := isHex(t, works(t, with(params, refunds(object{"bodyIdx": 0, "percent": 10}))), "refundableValue")
		want := new(big.Int).Sub(full, own)
		t.Check(got.Cmp(want) == 0, "refundableValue "+want.String(), got)
	})
	s.It("RPC-SIM-20", "takes each of several refunds off the profit", func(t *suite.T) {
		first, second, searcher := money(t), money(t), money(t)
		params := now(t, first.send(1), second.send(2), searcher.create(1e17, codePayment))
		full := works(t, params)
		shared := works(t, with(params, refunds(object{"bodyIdx": 0, "percent": 50}, object{"bodyIdx": 1, "percent": 30})))
		want := new(big.Int)
		for _, percent := range []int64{50, 30} {
			part := new(big.Int).Mul(isHex(t, shared, "refundableValue"), big.NewInt(percent))
			want.Add(want, part.Div(part, big.NewInt(100)))
		}
		lost := new(big.Int).Sub(isHex(t, full, "profit"), isHex(t, shared, "profit"))
		t.Check(lost.Cmp(want) == 0, "a profit that is lower by both refunds, "+want.String(), lost)
	})
	s.It("RPC-SHR-16", "refuses the index that follows the last", func(t *suite.T) {
		w := money(t)
		params := share(t, w.send(1), w.send(2))
		noted(t, call(t, key(t), "mev_sendBundle", with(params, refunds(object{"bodyIdx": 1, "percent": 10}))))
		refused(t, call(t, key(t), "mev_sendBundle", with(params, refunds(object{"bodyIdx": 2, "percent": 10}))))
	})
	s.It("RPC-SHR-15", "refuses refunds of 101 % in an inner bundle", func(t *suite.T) {
		w := money(t)
		inner := share(t, w.send(1), w.send(2), w.send(3))
		outer := func(last int) object {
			list := refunds(object{"bodyIdx": 0, "percent": 60}, object{"bodyIdx": 1, "percent": last})
			return with(share(t), object{"body": []object{{"bundle": with(inner, list)}}})
		}
		noted(t, call(t, key(t), "mev_sendBundle", outer(40)))
		refused(t, call(t, key(t), "mev_sendBundle", outer(41)))
	})
	s.It("RPC-SHR-12", "refuses the hash of a transaction in place of its hint's", func(t *suite.T) {
		owner, searcher := money(t), money(t)
		target, follower := owner.send(1), searcher.send(2)
		hint := object{"privacy": object{"hints": []string{"hash"}}}
		window := object{"inclusion": object{"block": hexNumber(head(t) + 2), "maxBlock": hexNumber(head(t) + 20)}}
		hashed(t, call(t, key(t), "mev_sendBundle", with(with(share(t, target), hint), window)), target.Hash())
		following := with(with(share(t), window),
			object{"body": append([]object{{"hash": target.Hash().Hex()}}, body(t, follower)...)})
		err := t.Eventually(t.Target.Budgets.Hint(), func() error {
			if call(t, key(t), "mev_sendBundle", following).Refused() {
				return fmt.Errorf("refused, as it must be")
			}
			return nil
		})
		t.Check(err != nil, "a refusal, also once the order is shared", "it was taken")
	})
}
