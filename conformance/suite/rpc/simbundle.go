package rpc

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// emit returns code that creates a contract, and logs what an instruction of the EVM returns.
func emit(instruction string) string { return "0x" + instruction + "60006000a100" }

// Instructions of the EVM, in hexadecimal.
const (
	opCoinbase = "41"
	opTime     = "42"
	opNumber   = "43"
	opGasLimit = "45"
	opBaseFee  = "48"
)

// simulated is the result of mev_simBundle, member by member.
type simulated map[string]json.RawMessage

func (m simulated) success(t *suite.T) bool {
	var success bool
	err := json.Unmarshal(m["success"], &success)
	t.Check(err == nil, "success as a boolean", string(m["success"]))
	return success
}

// firstTopic returns the first topic of the first log of an element.
func (m simulated) firstTopic(t *suite.T, element int) *big.Int {
	var logs []struct {
		Logs []struct {
			Topics []common.Hash `json:"topics"`
		} `json:"txLogs"`
	}
	err := json.Unmarshal(m["logs"], &logs)
	t.Check(err == nil && len(logs) > element && len(logs[element].Logs) > 0 && len(logs[element].Logs[0].Topics) > 0,
		"a log of the element", string(m["logs"]))
	return logs[element].Logs[0].Topics[0].Big()
}

// newestParams makes the parameters of a bundle for the newest and the next blocks, so that it can
// be simulated on the newest state.
func newestParams(t *suite.T, txs ...*types.Transaction) object {
	at := head(t)
	return change(share(t, txs...), object{"inclusion": object{"block": hexNumber(at), "maxBlock": hexNumber(at + 20)}})
}

// simulateShare calls mev_simBundle and returns the result.
func simulateShare(t *suite.T, bundle object, more ...any) simulated {
	var m simulated
	readResult(t, call(t, key(t), "mev_simBundle", append([]any{bundle}, more...)...), &m)
	return m
}

// simulateWell is simulateShare for a bundle that must succeed. It fails the spec otherwise.
func simulateWell(t *suite.T, params object, more ...any) simulated {
	m := simulateShare(t, params, more...)
	t.Check(m.success(t), "success", string(m["error"])+string(m["execError"]))
	return m
}

// describeSimBundle adds specs about mev_simBundle.
func describeSimBundle(s *suite.Set) {
	s.It("RPC-SIM-01", "succeeds", func(t *suite.T) { simulateWell(t, newestParams(t, newWallet(t).send(1))) })
	s.It("RPC-SIM-02", "answers a failure as a result", func(t *suite.T) {
		m := simulateShare(t, newestParams(t, newWallet(t).create(0, codeRevert)))
		t.Check(!m.success(t), "success false", "success true")
	})
	s.It("RPC-SIM-02", "answers the failure of an inner bundle as a result", func(t *suite.T) {
		inside := object{"bundle": newestParams(t, newWallet(t).create(0, codeRevert))}
		params := newestParams(t, newWallet(t).send(1))
		m := simulateShare(t, change(params, object{"body": append(params["body"].([]object), inside)}))
		t.Check(!m.success(t), "success false", "success true")
	})
	// parent returns the newest block and options that simulate on it, so that a new head does not
	// matter.
	parent := func(t *suite.T) (uint64, object) {
		number := head(t)
		return number, object{"parentBlock": hexNumber(number)}
	}
	s.It("RPC-SIM-03", "says which state it used", func(t *suite.T) {
		w := newWallet(t)
		number, options := parent(t)
		m := simulateWell(t, change(newestParams(t, w.send(1)), object{"simOptions": options}))
		got := readQuantity(t, m, "stateBlock")
		t.Check(got.Uint64() == number, hexNumber(number), got)
	})
	s.It("RPC-SIM-04", "counts gas", func(t *suite.T) {
		w := newWallet(t)
		got := readQuantity(t, simulateWell(t, newestParams(t, w.send(1), w.send(2))), "gasUsed")
		t.Check(got.Uint64() == 42000, "0xa410", got)
	})
	s.It("RPC-SIM-04", "counts the gas of an inner bundle", func(t *suite.T) {
		w := newWallet(t)
		params := newestParams(t, w.send(1))
		inside := object{"bundle": change(newestParams(t, w.send(2), w.send(3)), object{"simOptions": nil})}
		got := readQuantity(t, simulateWell(t, change(params, object{"body": append(params["body"].([]object), inside)})),
			"gasUsed")
		t.Check(got.Uint64() == 63000, "0xf618", got)
	})
	s.It("RPC-SIM-05", "counts the profit", func(t *suite.T) {
		w := newWallet(t)
		got := readQuantity(t, simulateWell(t, newestParams(t, w.send(1), w.create(0, codeTime))), "profit")
		m := simulateWell(t, newestParams(t, newWallet(t).send(1)))
		want := big.NewInt(21000 * tipWei)
		t.Check(readQuantity(t, m, "profit").Cmp(want) == 0 && got.Cmp(want) > 0, "21000 times the tip for a transfer",
			readQuantity(t, m, "profit"))
	})
	s.It("RPC-SIM-06", "divides the profit by the gas", func(t *suite.T) {
		m := simulateWell(t, newestParams(t, newWallet(t).create(77_777_777_777, codePayment)))
		want := new(big.Int).Div(readQuantity(t, m, "profit"), readQuantity(t, m, "gasUsed"))
		t.Check(readQuantity(t, m, "mevGasPrice").Cmp(want) == 0, want.String(), readQuantity(t, m, "mevGasPrice"))
	})
	s.It("RPC-SIM-07", "counts what can be refunded", func(t *suite.T) {
		w := newWallet(t)
		m := simulateWell(t, newestParams(t, w.send(1), w.send(2)))
		t.Check(readQuantity(t, m, "refundableValue").Cmp(readQuantity(t, m, "profit")) == 0,
			"all of the profit without refunds",
			readQuantity(t, m, "refundableValue"))
	})
	s.It("RPC-SIM-07", "counts what elements without a refund bring, and no others", func(t *suite.T) {
		owner, searcher := newWallet(t), newWallet(t)
		params, own := newestParams(t, owner.send(1), searcher.create(1e17, codePayment)), big.NewInt(21000*tipWei)
		full := readQuantity(t, simulateWell(t, params), "profit")
		got := readQuantity(t, simulateWell(t, change(params, validity(object{"bodyIdx": 0, "percent": 10}))),
			"refundableValue")
		want := new(big.Int).Sub(full, own)
		t.Check(got.Cmp(want) == 0, "refundableValue "+want.String(), got)
	})
	s.It("RPC-SIM-08", "lists logs by element", func(t *suite.T) {
		w := newWallet(t)
		m := simulateWell(t, newestParams(t, w.send(1), w.create(0, emit(opNumber))))
		var logs []json.RawMessage
		err := json.Unmarshal(m["logs"], &logs)
		t.Check(err == nil && len(logs) == 2, "two entries", string(m["logs"]))
		m.firstTopic(t, 1)
	})
	s.It("RPC-SIM-08", "has one entry for an inner bundle", func(t *suite.T) {
		w := newWallet(t)
		params := newestParams(t, w.create(0, emit(opNumber)))
		inside := object{"bundle": newestParams(t, w.create(0, emit(opNumber)), w.create(0, emit(opTime)))}
		m := simulateWell(t, change(params, object{"body": append(params["body"].([]object), inside)}))
		var logs []json.RawMessage
		err := json.Unmarshal(m["logs"], &logs)
		t.Check(err == nil && len(logs) == 2, "two entries", string(m["logs"]))
	})
	for _, version := range []string{"v0.1", "beta-1"} {
		s.It("RPC-SIM-09", "takes version "+version, func(t *suite.T) {
			simulateWell(t, change(newestParams(t, newWallet(t).send(1)), object{"version": version}))
		})
	}
	s.It("RPC-SIM-10", "reads options in the object", func(t *suite.T) {
		w := newWallet(t)
		_, options := parent(t)
		m := simulateWell(t, change(newestParams(t, w.create(0, emit(opTime))),
			object{"simOptions": change(options, object{"timestamp": 4_000_000_000})}))
		t.Check(m.firstTopic(t, 0).Uint64() == 4_000_000_000, "the time of simOptions", m.firstTopic(t, 0))
	})
	s.It("RPC-SIM-11", "reads options after the object", func(t *suite.T) {
		w := newWallet(t)
		_, options := parent(t)
		m := simulateWell(t, newestParams(t, w.create(0, emit(opTime))), change(options, object{"timestamp": 4_000_000_000}))
		t.Check(m.firstTopic(t, 0).Uint64() == 4_000_000_000, "the time of the second parameter", m.firstTopic(t, 0))
	})
	s.It("RPC-SIM-12", "begins with the latest state unless told", func(t *suite.T) {
		w := newWallet(t)
		before := head(t)
		got := readQuantity(t, simulateWell(t, newestParams(t, w.send(1))), "stateBlock").Uint64()
		t.Check(got >= before && got <= head(t), fmt.Sprintf("a block from %d on", before), got)
	})
	for _, form := range []struct {
		title string
		of    func(number uint64) any
	}{{"in hex", func(n uint64) any { return hexNumber(n) }}, {"as a number", func(n uint64) any { return n }}} {
		s.It("RPC-SIM-12", "begins with the state of an older block "+form.title, func(t *suite.T) {
			w := newWallet(t)
			waitForBlock(t, 3)
			older := head(t) - 2
			m := simulateWell(t, change(newestParams(t, w.send(1)), object{"inclusion": object{"block": hexNumber(older + 1)}}),
				object{"parentBlock": form.of(older)})
			got := readQuantity(t, m, "stateBlock").Uint64()
			t.Check(got == older, fmt.Sprint(older), got)
		})
	}
	// field is a field of the block's header that a transaction logs as it sees it.
	type field struct {
		clause, title, name, instruction string
		given                            uint64
		usual                            func(parent *types.Header) uint64
	}
	for _, f := range []field{
		{"RPC-SIM-13", "block number", "blockNumber", opNumber, 4242, func(h *types.Header) uint64 {
			return h.Number.Uint64() + 1
		}},
		{"RPC-SIM-14", "time", "timestamp", opTime, 4_000_000_000, func(h *types.Header) uint64 { return h.Time + 12 }},
		{"RPC-SIM-16", "gas limit", "gasLimit", opGasLimit, 12_345_678, func(h *types.Header) uint64 { return h.GasLimit }},
	} {
		s.It(f.clause, "takes another "+f.title, func(t *suite.T) {
			w := newWallet(t)
			_, options := parent(t)
			params := newestParams(t, w.create(0, emit(f.instruction)))
			if f.name == "blockNumber" {
				params["inclusion"] = object{"block": hexNumber(f.given)}
			}
			m := simulateWell(t, params, change(options, object{f.name: f.given}))
			t.Check(m.firstTopic(t, 0).Uint64() == f.given, fmt.Sprint(f.given), m.firstTopic(t, 0))
		})
		s.It(f.clause, "has a usual "+f.title+" on an older block", func(t *suite.T) {
			w := newWallet(t)
			waitForBlock(t, 3)
			older := head(t) - 2
			var header *types.Header
			ask(t, &header, "eth_getBlockByNumber", hexNumber(older), false)
			params := change(newestParams(t, w.create(0, emit(f.instruction))),
				object{"inclusion": object{"block": hexNumber(older), "maxBlock": hexNumber(older + 20)}})
			m := simulateWell(t, params, object{"parentBlock": hexNumber(older)})
			t.Check(m.firstTopic(t, 0).Uint64() == f.usual(header), fmt.Sprint(f.usual(header)), m.firstTopic(t, 0))
		})
		s.It(f.clause, "has a usual "+f.title, func(t *suite.T) {
			w := newWallet(t)
			number, options := parent(t)
			var header *types.Header
			ask(t, &header, "eth_getBlockByNumber", hexNumber(number), false)
			m := simulateWell(t, newestParams(t, w.create(0, emit(f.instruction))), options)
			t.Check(m.firstTopic(t, 0).Uint64() == f.usual(header), fmt.Sprint(f.usual(header)), m.firstTopic(t, 0))
		})
	}
	for _, f := range []struct{ name, instruction string }{{"blockNumber", opNumber}, {"timestamp", opTime},
		{"gasLimit", opGasLimit}, {"baseFee", opBaseFee}} {
		s.It("RPC-SIM-28", "reads "+f.name+" in hexadecimal", func(t *suite.T) {
			const given = 5_000_000_007 // above all that the block would have, and its base fee below what is paid
			tx := newWallet(t).create(0, emit(f.instruction))
			_, options := parent(t)
			params := newestParams(t, tx)
			if f.name == "blockNumber" {
				params["inclusion"] = object{"block": hexNumber(given)}
			}
			m := simulateWell(t, params, change(options, object{f.name: hexNumber(given)}))
			t.Check(m.firstTopic(t, 0).Uint64() == given, fmt.Sprint(given), m.firstTopic(t, 0))
		})
	}
	s.It("RPC-SIM-28", "reads a timeout in hexadecimal", func(t *suite.T) {
		simulateWell(t, newestParams(t, newWallet(t).send(1)), object{"timeout": "0x3"})
	})
	s.It("RPC-SIM-15", "takes another fee recipient", func(t *suite.T) {
		w := newWallet(t)
		m := simulateWell(t, newestParams(t, w.create(0, emit(opCoinbase))), object{"coinbase": sink.Hex()})
		t.Check(common.BigToAddress(m.firstTopic(t, 0)) == sink, sink.Hex(), common.BigToAddress(m.firstTopic(t, 0)))
	})
	s.It("RPC-SIM-15", "has the parent's fee recipient", func(t *suite.T) {
		w := newWallet(t)
		number, options := parent(t)
		var header *types.Header
		ask(t, &header, "eth_getBlockByNumber", hexNumber(number), false)
		m := simulateWell(t, newestParams(t, w.create(0, emit(opCoinbase))), options)
		t.Check(common.BigToAddress(m.firstTopic(t, 0)) == header.Coinbase, header.Coinbase.Hex(),
			common.BigToAddress(m.firstTopic(t, 0)))
	})
	s.It("RPC-SIM-17", "takes another base fee", func(t *suite.T) {
		w := newWallet(t)
		m := simulateWell(t, newestParams(t, w.create(0, emit(opBaseFee))), object{"baseFee": 5_000_000_007})
		t.Check(m.firstTopic(t, 0).Uint64() == 5_000_000_007, "5000000007", m.firstTopic(t, 0))
	})
	s.It("RPC-SIM-17", "has the parent's base fee, or what follows from it", func(t *suite.T) {
		seen, parent := readSeenBaseFee(t)
		next := eip1559.CalcBaseFee(params.MergedTestChainConfig, parent)
		t.Check(seen.Cmp(parent.BaseFee) == 0 || seen.Cmp(next) == 0, fmt.Sprintf("%s or %s", parent.BaseFee, next), seen)
	})
	s.It("RPC-SIM-18", "takes a timeout", func(t *suite.T) {
		simulateWell(t, newestParams(t, newWallet(t).send(1)),
			object{"timeout": 3})
	})
	s.It("RPC-SIM-19", "refuses a bundle that begins with a hash", func(t *suite.T) {
		w := newWallet(t)
		params := change(newestParams(t), object{"body": append([]object{{"hash": common.Hash{9}.Hex()}}, body(t,
			w.send(1))...)})
		checkRefused(t, call(t, key(t), "mev_simBundle", params))
	})
	s.It("RPC-SIM-20", "takes refunds off the profit", func(t *suite.T) {
		owner, searcher := newWallet(t), newWallet(t)
		params := newestParams(t, owner.send(1), searcher.create(1e17, codePayment))
		full := simulateWell(t, params)
		shared := simulateWell(t, change(params, object{"validity": object{"refund": []object{{"bodyIdx": 0,
			"percent": 90}}}}))
		refundable := readQuantity(t, shared, "refundableValue")
		most := new(big.Int).Div(new(big.Int).Mul(refundable, big.NewInt(90)), big.NewInt(100))
		lost := new(big.Int).Sub(readQuantity(t, full, "profit"), readQuantity(t, shared, "profit"))
		t.Check(lost.Cmp(most) == 0, "a profit that is lower by 90 % of refundableValue, "+most.String(), lost)
	})
	s.It("RPC-SIM-20", "takes each of several refunds off the profit", func(t *suite.T) {
		first, second, searcher := newWallet(t), newWallet(t), newWallet(t)
		params := newestParams(t, first.send(1), second.send(2), searcher.create(1e17, codePayment))
		full := simulateWell(t, params)
		shared := simulateWell(t, change(params, validity(object{"bodyIdx": 0, "percent": 50}, object{"bodyIdx": 1,
			"percent": 30})))
		want := new(big.Int)
		for _, percent := range []int64{50, 30} {
			part := new(big.Int).Mul(readQuantity(t, shared, "refundableValue"), big.NewInt(percent))
			want.Add(want, part.Div(part, big.NewInt(100)))
		}
		lost := new(big.Int).Sub(readQuantity(t, full, "profit"), readQuantity(t, shared, "profit"))
		t.Check(lost.Cmp(want) == 0, "a profit that is lower by both refunds, "+want.String(), lost)
	})
	s.It("RPC-SIM-21", "needs no refunds", func(t *suite.T) {
		simulateWell(t, change(newestParams(t, newWallet(t).send(1)), object{"validity": object{}}))
	})
	s.It("RPC-SIM-22", "succeeds with a revert that is allowed", func(t *suite.T) {
		w := newWallet(t)
		params := newestParams(t, w.create(0, codeRevert), w.send(1))
		params["body"].([]object)[0]["canRevert"] = true
		simulateWell(t, params)
	})
	s.It("RPC-SIM-23", "simulates what was just sent", func(t *suite.T) {
		params := newestParams(t, newWallet(t).send(1))
		checkNoted(t, call(t, key(t), "mev_sendBundle", params))
		simulateWell(t, params)
	})
}
