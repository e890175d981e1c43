package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Code that a transaction runs to create a contract. What it returns becomes the contract's code.
const (
	codeTime    = "0x4260005260206000f3"         // return the block's time
	codeNumber  = "0x4360005260206000f3"         // return the block's number
	codeRevert  = "0x60006000fd"                 // revert
	codePayment = "0x600060006000600034415af100" // send the value to the fee recipient
)

// called is the result of eth_callBundle.
type called struct {
	BundleGasPrice    *decimal `json:"bundleGasPrice"`
	BundleHash        string   `json:"bundleHash"`
	CoinbaseDiff      *decimal `json:"coinbaseDiff"`
	EthSentToCoinbase *decimal `json:"ethSentToCoinbase"`
	GasFees           *decimal `json:"gasFees"`
	StateBlockNumber  *uint64  `json:"stateBlockNumber"`
	TotalGasUsed      *uint64  `json:"totalGasUsed"`
	Results           []struct {
		CoinbaseDiff      *decimal        `json:"coinbaseDiff"`
		EthSentToCoinbase *decimal        `json:"ethSentToCoinbase"`
		FromAddress       string          `json:"fromAddress"`
		GasFees           *decimal        `json:"gasFees"`
		GasPrice          *decimal        `json:"gasPrice"`
		GasUsed           *uint64         `json:"gasUsed"`
		ToAddress         *string         `json:"toAddress"`
		TxHash            string          `json:"txHash"`
		Value             *string         `json:"value"`
		Error             json.RawMessage `json:"error"`
		Revert            json.RawMessage `json:"revert"`
	} `json:"results"`
}

// decimal is a number that JSON has as decimal text.
type decimal struct{ *big.Int }

// UnmarshalJSON reads a decimal integer from text.
func (d *decimal) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("want decimal text, got %s", data)
	}
	number, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return fmt.Errorf("want decimal text, got %q", text)
	}
	d.Int = number
	return nil
}

// simulate calls eth_callBundle on the newest state, with the given changes of its parameters.
func simulate(t *suite.T, changes object, txs ...*types.Transaction) called {
	number := head(t)
	params := change(object{"txs": encodeTxs(t, txs...), "blockNumber": hexNumber(number + 1),
		"stateBlockNumber": hexNumber(number)}, changes)
	var c called
	readResult(t, call(t, key(t), "eth_callBundle", params), &c)
	complete := c.BundleGasPrice != nil && c.CoinbaseDiff != nil && c.EthSentToCoinbase != nil && c.GasFees != nil &&
		c.StateBlockNumber != nil &&
		c.TotalGasUsed != nil && len(c.Results) == len(txs)
	t.Check(complete, "all members, and a result for each transaction", fmt.Sprintf("%+v", c))
	return c
}

// describeCallBundle adds specs about eth_callBundle.
func describeCallBundle(s *suite.Set) {
	const method = "eth_callBundle"
	s.It("RPC-CAL-01", "answers the bundle's hash", func(t *suite.T) {
		w := newWallet(t)
		one, two := w.send(1), w.send(2)
		c := simulate(t, nil, one, two)
		want := bundleHash(one, two).Hex()
		t.Check(strings.EqualFold(c.BundleHash, want), want, c.BundleHash)
	})
	s.It("RPC-CAL-01", "answers the hash of a bundle of one", func(t *suite.T) {
		tx := newWallet(t).send(1)
		c := simulate(t, nil, tx)
		want := bundleHash(tx).Hex()
		t.Check(strings.EqualFold(c.BundleHash, want), want, c.BundleHash)
	})
	s.It("RPC-CAL-02", "adds fees and payments", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(12345, codePayment))
		sum := new(big.Int).Add(c.GasFees.Int, c.EthSentToCoinbase.Int)
		t.Check(c.CoinbaseDiff.Cmp(sum) == 0, "coinbaseDiff "+sum.String(), c.CoinbaseDiff)
	})
	s.It("RPC-CAL-03", "divides by the gas used", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(12345, codePayment))
		want := new(big.Int).Div(c.CoinbaseDiff.Int, new(big.Int).SetUint64(*c.TotalGasUsed))
		t.Check(c.BundleGasPrice.Cmp(want) == 0, "bundleGasPrice "+want.String(), c.BundleGasPrice)
	})
	s.It("RPC-CAL-03", "divides by the gas of all transactions", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(1e15, codePayment))
		want := new(big.Int).Div(c.CoinbaseDiff.Int, new(big.Int).SetUint64(*c.TotalGasUsed))
		t.Check(c.BundleGasPrice.Cmp(want) == 0, "bundleGasPrice "+want.String(), c.BundleGasPrice)
	})
	s.It("RPC-CAL-04", "adds up the gas", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(0, codeTime))
		sum := uint64(0)
		for _, r := range c.Results {
			t.Check(r.GasUsed != nil, "gasUsed as a number", r)
			sum += *r.GasUsed
		}
		t.Check(*c.TotalGasUsed == sum, fmt.Sprintf("totalGasUsed %d", sum), *c.TotalGasUsed)
	})
	s.It("RPC-CAL-04", "adds up the gas also of what reverts", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.create(0, codeRevert), w.send(1))
		sum := uint64(0)
		for _, r := range c.Results {
			t.Check(r.GasUsed != nil && *r.GasUsed > 0, "gasUsed as a number", r)
			sum += *r.GasUsed
		}
		t.Check(*c.TotalGasUsed == sum, fmt.Sprintf("totalGasUsed %d", sum), *c.TotalGasUsed)
	})
	s.It("RPC-CAL-05", "says which state it used", func(t *suite.T) {
		w := newWallet(t)
		number := head(t)
		c := simulate(t, object{"stateBlockNumber": hexNumber(number - 1), "blockNumber": hexNumber(number)}, w.send(1))
		t.Check(*c.StateBlockNumber == number-1, fmt.Sprint(number-1), *c.StateBlockNumber)
	})
	s.It("RPC-CAL-05", "says which state latest is", func(t *suite.T) {
		w := newWallet(t)
		before := head(t)
		c := simulate(t, object{"stateBlockNumber": "latest", "blockNumber": hexNumber(before + 2)}, w.send(1))
		after := head(t) // the target may be a block behind
		t.Check(*c.StateBlockNumber+1 >= before && *c.StateBlockNumber <= after,
			fmt.Sprintf("a block from %d to %d", before, after), *c.StateBlockNumber)
	})
	s.It("RPC-CAL-06", "names the recipient of a transaction that fails", func(t *suite.T) {
		addition := common.BytesToAddress([]byte{6}) // of points of a curve, which these are not
		w := newWallet(t)
		r := simulate(t, nil, w.tx(&addition, 0, 100_000, bytes.Repeat([]byte{0xff}, 128))).Results[0]
		t.Check(r.ToAddress != nil && strings.EqualFold(*r.ToAddress, addition.Hex()), addition.Hex(), r.ToAddress)
	})
	s.It("RPC-CAL-07", "counts no more of a tip than the fee cap leaves", func(t *suite.T) {
		const gwei, low, high = 1_000_000_000, 50, 60
		w := newWallet(t)
		c := simulate(t, nil, w.sendCapped(low*gwei), w.sendCapped(high*gwei))
		fees := [2]*decimal{c.Results[0].GasFees, c.Results[1].GasFees}
		t.Check(fees[0] != nil && fees[1] != nil, "gasFees", c.Results)
		t.Check(fees[0].Cmp(big.NewInt(21000*low*gwei)) < 0, "gasFees below the fee cap, which pays the base fee as well",
			fees[0])
		t.Check(new(big.Int).Sub(fees[1].Int, fees[0].Int).Cmp(big.NewInt(21000*(high-low)*gwei)) == 0,
			"gasFees that differ by the difference of the fee caps", fmt.Sprint(fees))
	})
	s.It("RPC-CAL-06", "names transactions, senders and recipients in order", func(t *suite.T) {
		one, two := newWallet(t), newWallet(t)
		txs := []*types.Transaction{one.send(1), two.send(2)}
		c := simulate(t, nil, txs...)
		for i, sender := range []*wallet{one, two} {
			r := c.Results[i]
			fits := strings.EqualFold(r.TxHash, txs[i].Hash().Hex()) &&
				strings.EqualFold(r.FromAddress, sender.address().Hex()) && r.ToAddress != nil &&
				strings.EqualFold(*r.ToAddress, sink.Hex())
			t.Check(fits, fmt.Sprintf("%s from %s to %s", txs[i].Hash(), sender.address(), sink), fmt.Sprintf("%+v", r))
		}
	})
	s.It("RPC-CAL-07", "counts gas and fees of a transfer", func(t *suite.T) {
		c := simulate(t, nil, newWallet(t).send(1))
		r := c.Results[0]
		t.Check(r.GasUsed != nil && *r.GasUsed == 21000, "gasUsed 21000", fmt.Sprintf("%+v", r))
		want := big.NewInt(21000 * tipWei)
		t.Check(r.GasFees != nil && r.GasFees.Cmp(want) == 0, "gasFees "+want.String(), r.GasFees)
	})
	s.It("RPC-CAL-08", "counts what is sent to the fee recipient", func(t *suite.T) {
		c := simulate(t, nil, newWallet(t).create(98765, codePayment))
		t.Check(c.EthSentToCoinbase.Cmp(big.NewInt(98765)) == 0, "ethSentToCoinbase 98765", c.EthSentToCoinbase)
	})
	s.It("RPC-CAL-09", "answers a revert as a result", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.create(0, codeRevert), w.send(1))
		t.Check(c.Results[0].Error != nil && string(c.Results[0].Error) != "null", "error in the first result",
			fmt.Sprintf("%+v", c.Results[0]))
		t.Check(c.Results[1].Error == nil, "no error in the second result", string(c.Results[1].Error))
	})
	s.It("RPC-CAL-10", "refuses a nonce that is too high", func(t *suite.T) {
		checkRightCall(t, "eth_callBundle")
		w := newWallet(t)
		w.next = 7
		number := head(t)
		checkRefused(t, call(t, key(t), method, object{"txs": encodeTxs(t, w.send(1)), "blockNumber": hexNumber(number + 1),
			"stateBlockNumber": "latest"}))
	})
	s.It("RPC-CAL-11", "leaves nothing behind", func(t *suite.T) {
		w := newWallet(t)
		tx := w.send(1)
		first := simulate(t, nil, tx)
		second := simulate(t, nil, tx)
		t.Check(*first.TotalGasUsed == *second.TotalGasUsed && second.Results[0].Error == nil, "the same again",
			fmt.Sprintf("%+v", second))
		var found json.RawMessage
		ask(t, &found, "eth_getTransactionByHash", tx.Hash().Hex())
		t.Check(string(found) == "null", "no such transaction on the chain or in the pool", string(found))
	})
	s.It("RPC-CAL-12", "refuses a call without txs", func(t *suite.T) {
		checkRightCall(t, "eth_callBundle")
		checkRefused(t, call(t, key(t), method, object{"blockNumber": "0x1", "stateBlockNumber": "latest"}))
		checkRefused(t, call(t, key(t), method, object{"txs": []string{}, "blockNumber": "0x1",
			"stateBlockNumber": "latest"}))
	})
	s.It("RPC-CAL-13", "refuses a call without blockNumber", func(t *suite.T) {
		checkRightCall(t, "eth_callBundle")
		checkRefused(t, call(t, key(t), method, object{"txs": []string{"0x02"}, "stateBlockNumber": "latest"}))
	})
	s.It("RPC-CAL-14", "begins with the state that was asked for", func(t *suite.T) {
		c := simulate(t, object{"stateBlockNumber": "latest"}, newWallet(t).send(1))
		t.Check(c.Results[0].Error == nil, "the first nonce to be right", string(c.Results[0].Error))
	})
	// seen fails the spec unless the first transaction, which creates a contract, returned the
	// wanted number.
	seen := func(t *suite.T, c called, want uint64) {
		value := c.Results[0].Value
		t.Check(value != nil, "value", fmt.Sprintf("%+v", c.Results[0]))
		t.Check(new(big.Int).SetBytes(common.FromHex(*value)).Cmp(new(big.Int).SetUint64(want)) == 0,
			fmt.Sprintf("%d", want), *value)
	}
	s.It("RPC-CAL-15", "runs at the time that was given", func(t *suite.T) {
		const at = 4_000_000_000
		seen(t, simulate(t, object{"timestamp": at}, newWallet(t).create(0, codeTime)), at)
	})
	s.It("RPC-CAL-16", "runs in the block that was given", func(t *suite.T) {
		w, number := newWallet(t), head(t)
		seen(t, simulate(t, object{"blockNumber": hexNumber(number + 5), "stateBlockNumber": hexNumber(number)},
			w.create(0, codeNumber)), number+5)
	})
	s.It("RPC-CAL-17", "refuses a state that is not there", func(t *suite.T) {
		checkRightCall(t, "eth_callBundle")
		w := newWallet(t)
		checkRefused(t, call(t, key(t), method, object{"txs": encodeTxs(t, w.send(1)), "blockNumber": "0xffffff",
			"stateBlockNumber": "0xfffffe"}))
	})
	s.It("RPC-CAL-18", "writes gas as a number and values as hex", func(t *suite.T) {
		r := simulate(t, nil, newWallet(t).send(1)).Results[0]
		t.Check(r.GasUsed != nil && r.Value != nil && strings.HasPrefix(*r.Value, "0x"), "gasUsed and value",
			fmt.Sprintf("%+v", r))
	})
	s.It("RPC-CAL-22", "counts fees and payments of each transaction", func(t *suite.T) {
		const tip, paid = tipWei, 98765
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(paid, codePayment))
		for i, r := range c.Results {
			complete := r.CoinbaseDiff != nil && r.EthSentToCoinbase != nil && r.GasFees != nil && r.GasUsed != nil
			t.Check(complete, "coinbaseDiff, ethSentToCoinbase, gasFees and gasUsed", fmt.Sprintf("%+v", r))
			gas := new(big.Int).SetUint64(*r.GasUsed)
			fees, payment := new(big.Int).Mul(gas, big.NewInt(tip)), big.NewInt(int64(i)*paid)
			t.Check(r.EthSentToCoinbase.Cmp(payment) == 0, fmt.Sprintf("ethSentToCoinbase %s of transaction %d", payment, i),
				r.EthSentToCoinbase)
			all := new(big.Int).Add(fees, payment)
			t.Check(r.GasFees.Cmp(fees) == 0 && r.CoinbaseDiff.Cmp(all) == 0,
				fmt.Sprintf("gasFees %s and coinbaseDiff %s of transaction %d", fees, all, i), fmt.Sprintf("%+v", r))
		}
	})
	s.It("RPC-CAL-23", "has the gas price of each transaction", func(t *suite.T) {
		w := newWallet(t)
		c := simulate(t, nil, w.send(1), w.create(98_765_432_100, codePayment))
		for i, r := range c.Results {
			t.Check(r.GasPrice != nil && r.CoinbaseDiff != nil && r.GasUsed != nil, "gasPrice", fmt.Sprintf("%+v", r))
			want := new(big.Int).Div(r.CoinbaseDiff.Int, new(big.Int).SetUint64(*r.GasUsed))
			t.Check(r.GasPrice.Cmp(want) == 0, fmt.Sprintf("gasPrice %s of transaction %d: coinbaseDiff by gasUsed", want, i),
				r.GasPrice)
		}
	})
	s.It("RPC-CAL-19", "has no recipient for a contract's making", func(t *suite.T) {
		r := simulate(t, nil, newWallet(t).create(0, codeTime)).Results[0]
		t.Check(r.ToAddress == nil || *r.ToAddress == "0x" || *r.ToAddress == "", "toAddress null or empty", r.ToAddress)
	})
	s.It("RPC-CAL-20", "shows later transactions what earlier ones did", func(t *suite.T) {
		rich := newWallet(t)
		poor := &wallet{PrivateKey: key(t), t: t, chain: rich.chain}
		to := poor.address()
		c := simulate(t, nil, rich.tx(&to, 1e17, 100_000, nil), poor.send(1))
		t.Check(c.Results[1].Error == nil, "the second transaction to be paid by the first", string(c.Results[1].Error))
	})
}
