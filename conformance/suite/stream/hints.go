package stream

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// Topics of swaps (docs/spec.md, Swap logs).
const (
	swapV2       = "d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"
	swapV3       = "c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"
	swapV4       = "40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"
	swapCurve    = "8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140"
	swapBalancer = "2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b"
)

// oneLog is code that writes one log with the block's number as its only topic. The log is no swap.
const oneLog = "0x4360006000a100"

// emitCode returns code that creates a contract and logs 32 bytes of data under topics. Topics are
// hexadecimal without 0x.
func emitCode(topics ...string) string {
	code := "60ff600052" // memory begins with 32 bytes that are not all zero
	for _, topic := range slices.Backward(topics) {
		code += "7f" + topic
	}
	return "0x" + code + "60206000" + fmt.Sprintf("a%d", len(topics)) + "00"
}

// noSwaps are the first topics of what pools log besides swaps, by name.
var noSwaps = map[string]string{
	"Sync of Uniswap v2":        "1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1",
	"Mint of Uniswap v2":        "4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f",
	"Mint of Uniswap v3":        "7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde",
	"Transfer of ERC-20 tokens": "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
}

const (
	topicA = "00000000000000000000000000000000000000000000000000000000000000aa"
	topicB = "00000000000000000000000000000000000000000000000000000000000000bb"
	topicC = "00000000000000000000000000000000000000000000000000000000000000cc"
)

type log struct {
	topics []string
	data   string
}

// readLogs returns the logs of an event, decoded.
func readLogs(t *suite.T, e event) (list []log) {
	for _, members := range e.logs(t) {
		var l log
		err := json.Unmarshal(members["topics"], &l.topics)
		if err == nil {
			err = json.Unmarshal(members["data"], &l.data)
		}
		t.Check(err == nil, "a log with topics and data", fmt.Sprint(members))
		list = append(list, l)
	}
	return list
}

// describeHints adds specs about what each hint shares.
func describeHints(s *suite.Set) {
	data := []byte{0xde, 0xad, 0xbe, 0xef, 0x01}
	// one adds a spec that sends an order of one transaction with hints, and checks that
	// transaction in its event.
	one := func(clause, title string, names []string, check func(t *suite.T, tx map[string]any)) {
		s.It(clause, title, func(t *suite.T) { check(t, shareBundle(t, names, rpc.NewWallet(t).Transfer(1, data...)).tx(t)) })
	}
	one("STR-HNT-01", "shares the data", []string{"calldata"}, func(t *suite.T, tx map[string]any) {
		has(t, tx, "callData", "0xdeadbeef01")
	})
	s.It("STR-HNT-01", "shares the data of a transaction that makes a contract", func(t *suite.T) {
		has(t, shareBundle(t, []string{"calldata"}, rpc.NewWallet(t).Create(oneLog)).tx(t), "callData", oneLog)
	})
	one("STR-HNT-02", "shares selector and recipient with the data", []string{"calldata"},
		func(t *suite.T, tx map[string]any) {
			hasOnly(t, tx, "callData", "functionSelector", "to")
		})
	s.It("STR-HNT-03", "shares a selector without arguments", func(t *suite.T) {
		has(t, shareBundle(t, []string{"function_selector"}, rpc.NewWallet(t).Transfer(1, data[:4]...)).tx(t),
			"functionSelector",
			"0xdeadbeef")
	})
	one("STR-HNT-03", "shares the selector", []string{"function_selector"}, func(t *suite.T, tx map[string]any) {
		has(t, tx, "functionSelector", "0xdeadbeef")
	})
	one("STR-HNT-04", "shares the recipient with the selector", []string{"function_selector"},
		func(t *suite.T, tx map[string]any) {
			hasOnly(t, tx, "functionSelector", "to")
		})
	one("STR-HNT-05", "shares the recipient", []string{"contract_address"}, func(t *suite.T, tx map[string]any) {
		has(t, tx, "to", rpc.Sink().Hex())
	})
	s.It("STR-HNT-05", "shares the recipient of a transaction without data", func(t *suite.T) {
		has(t, shareBundle(t, []string{"contract_address"}, rpc.NewWallet(t).Transfer(1)).tx(t), "to", rpc.Sink().Hex())
	})
	s.It("STR-HNT-06", "shares the logs of each transaction of a bundle", func(t *suite.T) {
		w := rpc.NewWallet(t)
		list := readLogs(t, shareBundle(t, []string{"logs"}, w.Create(emitCode(topicA)), w.Create(emitCode(topicB)),
			w.Create(emitCode(topicC))))
		t.Check(len(list) == 3, "three logs", fmt.Sprint(list))
		for i, topic := range []string{topicA, topicB, topicC} {
			t.Check(slices.Equal(list[i].topics, []string{"0x" + topic}), "the logs in their order", fmt.Sprint(list))
		}
	})
	s.It("STR-HNT-06", "shares logs as they are", func(t *suite.T) {
		list := readLogs(t, shareBundle(t, []string{"logs"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB,
			topicC))))
		want := []string{"0x" + swapV2, "0x" + topicA, "0x" + topicB, "0x" + topicC}
		t.Check(len(list) == 1 && slices.Equal(list[0].topics, want) && len(list[0].data) == 66,
			"the log with four topics and 32 bytes", fmt.Sprint(list))
	})
	s.It("STR-HNT-06", "shares each log of a transaction", func(t *suite.T) {
		code := emitCode(swapV2, topicA, topicB)
		twice := strings.TrimSuffix(code, "00") + "60206000a0" + "00" // the second log has no topic
		list := readLogs(t, shareBundle(t, []string{"logs"}, rpc.NewWallet(t).Create(twice)))
		t.Check(len(list) == 2, "two logs", fmt.Sprint(list))
	})
	s.It("STR-HNT-06", "shares a log without data", func(t *suite.T) {
		list := readLogs(t, shareBundle(t, []string{"logs"}, rpc.NewWallet(t).Create("0x7f"+topicA+"60006000a1"+"00")))
		t.Check(len(list) == 1 && slices.Equal(list[0].topics, []string{"0x" + topicA}) && list[0].data == "0x",
			"the log with a topic and no data", fmt.Sprint(list))
	})
	s.It("STR-HNT-07", "shares of a swap no amounts", func(t *suite.T) {
		e := shareBundle(t, []string{"default_logs"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)))
		list := readLogs(t, e)
		t.Check(len(list) == 1 && list[0].topics[0] == "0x"+swapV2, "the swap's log", e.raw)
		t.Check(list[0].data == "0x" && !strings.Contains(e.raw, topicA), "neither data nor other topics", e.raw)
	})
	s.It("STR-HNT-07", "shares each swap at a pool", func(t *suite.T) {
		swap := emitCode(swapV2, topicA, topicB)
		twice := strings.TrimSuffix(swap, "00") + strings.TrimPrefix(swap, "0x")
		list := readLogs(t, shareBundle(t, []string{"default_logs"}, rpc.NewWallet(t).Create(twice)))
		t.Check(len(list) == 2 && list[0].topics[0] == "0x"+swapV2 && list[1].topics[0] == "0x"+swapV2,
			"a log for each of two swaps", fmt.Sprint(list))
	})
	// Pools of their own contract are known by the log's address. Those that share one are known by
	// the second topic.
	zero := common.Hash{}.Hex()
	for _, venue := range []struct{ clause, name, topic, second string }{
		{"STR-HNT-08", "Uniswap v2", swapV2, zero}, {"STR-HNT-08", "Uniswap v3", swapV3, zero},
		{"STR-HNT-08", "Curve", swapCurve, zero}, {"STR-HNT-09", "Balancer v2", swapBalancer, "0x" + topicA},
		{"STR-HNT-09", "Uniswap v4", swapV4, "0x" + topicA},
	} {
		s.It(venue.clause, "shares a swap of "+venue.name, func(t *suite.T) {
			list := readLogs(t, shareBundle(t, []string{"default_logs"}, rpc.NewWallet(t).Create(emitCode(venue.topic, topicA,
				topicB))))
			want := []string{"0x" + venue.topic, venue.second, zero}
			t.Check(len(list) == 1 && slices.Equal(list[0].topics, want) && list[0].data == "0x",
				fmt.Sprintf("one log with the topics %s and no data", want), fmt.Sprint(list))
		})
	}
	s.It("STR-HNT-10", "leaves out other logs", func(t *suite.T) {
		e := shareBundle(t, []string{"default_logs"}, rpc.NewWallet(t).Create(emitCode(topicB, topicA)))
		t.Check(len(e.logs(t)) == 0, "no logs", e.raw)
	})
	s.It("STR-HNT-10", "leaves out what pools log besides swaps", func(t *suite.T) {
		for name, topic := range noSwaps {
			e := shareBundle(t, []string{"default_logs"}, rpc.NewWallet(t).Create(emitCode(topic, topicA, topicB)))
			t.Check(len(e.logs(t)) == 0, "no logs, since "+name+" is no swap", e.raw)
		}
	})
	s.It("STR-HNT-11", "shares nothing with hash alone", func(t *suite.T) {
		e := shareBundle(t, []string{"hash"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)))
		t.Check(len(e.txs) == 0 && len(e.logs(t)) == 0, "neither txs nor logs", e.raw)
	})
	s.It("STR-HNT-11", "shares of a bundle with hash alone not even how many transactions it has", func(t *suite.T) {
		w := rpc.NewWallet(t)
		e := shareBundle(t, []string{"hash"}, w.Transfer(1), w.Create(emitCode(swapV2, topicA)))
		t.Check(len(e.txs) == 0 && len(e.logs(t)) == 0, "neither txs nor logs", e.raw)
	})
	s.It("STR-HNT-12", "shares the hash with any other hint", func(t *suite.T) {
		for _, hint := range []string{"calldata", "logs", "tx_hash"} {
			e := shareBundle(t, []string{hint}, rpc.NewWallet(t).Transfer(1, data...))
			t.Check(e.all["hash"] != nil, "hash", e.raw)
		}
	})
	s.It("STR-HNT-13", "shares the transaction's hash", func(t *suite.T) {
		tx := rpc.NewWallet(t).Transfer(1, data...)
		has(t, shareBundle(t, []string{"tx_hash"}, tx).tx(t), "hash", tx.Hash().Hex())
	})
	s.It("STR-HNT-13", "shares the hash of each transaction of a bundle", func(t *suite.T) {
		w := rpc.NewWallet(t)
		txs := []*types.Transaction{w.Transfer(1, data...), w.Transfer(2), w.Transfer(3, data...), w.Transfer(4)}
		e := shareBundle(t, []string{"tx_hash"}, txs...)
		t.Check(len(e.txs) == len(txs), "an element for each transaction", e.raw)
		for i, tx := range txs {
			has(t, e.txs[i], "hash", tx.Hash().Hex())
		}
	})
	s.It("STR-HNT-14", "shares of each transaction of a bundle its own fields", func(t *suite.T) {
		one, two := rpc.NewWallet(t), rpc.NewWallet(t)
		e := shareBundle(t, []string{"full"}, one.Transfer(1, data...), two.Transfer(2), two.Transfer(3, data...))
		t.Check(len(e.txs) == 3, "three elements", e.raw)
		for i, want := range []struct{ from, value, nonce string }{
			{one.Address().Hex(), "0x1", "0x0"}, {two.Address().Hex(), "0x2", "0x0"}, {two.Address().Hex(), "0x3", "0x1"},
		} {
			has(t, e.txs[i], "from", want.from)
			has(t, e.txs[i], "value", want.value)
			has(t, e.txs[i], "nonce", want.nonce)
		}
	})
	full := func(clause, title string, check func(t *suite.T, w rpc.Wallet, tx map[string]any)) {
		s.It(clause, title, func(t *suite.T) {
			w := rpc.NewWallet(t)
			check(t, w, shareBundle(t, []string{"full"}, w.Transfer(1, data...)).tx(t))
		})
	}
	tip, feeCap, gas := rpc.Fees()
	full("STR-HNT-14", "shares all of a transaction", func(t *suite.T, w rpc.Wallet, tx map[string]any) {
		for member, want := range map[string]string{
			"to": rpc.Sink().Hex(), "from": w.Address().Hex(), "value": "0x1", "callData": "0xdeadbeef01", "nonce": "0x0",
			"chainId": hexutil.EncodeUint64(t.World.Facts.ChainID),
		} {
			has(t, tx, member, want)
		}
	})
	s.It("STR-HNT-14", "shares a value of more than 64 bits", func(t *suite.T) {
		value := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(3))
		tx := rpc.NewWallet(t).TransferBig(value, big.NewInt(int64(tip)))
		has(t, shareBundle(t, []string{"full"}, tx).tx(t), "value", hexutil.EncodeBig(value))
	})
	s.It("STR-HNT-14", "shares the chain of a legacy transaction", func(t *suite.T) {
		has(t, shareBundle(t, []string{"full"}, rpc.NewWallet(t).Legacy()).tx(t), "chainId",
			hexutil.EncodeUint64(t.World.Facts.ChainID))
	})
	s.It("STR-HNT-15", "shares a priority fee of 0", func(t *suite.T) {
		w := rpc.NewWallet(t)
		free, paying := w.TransferBig(big.NewInt(1), new(big.Int)), w.Transfer(2)
		e := shareBundle(t, []string{"full"}, free, paying)
		t.Check(len(e.txs) == 2, "two elements", e.raw)
		has(t, e.txs[0], "maxPriorityFeePerGas", "0x0")
	})
	full("STR-HNT-15", "shares the gas limit and the fees", func(t *suite.T, _ rpc.Wallet, tx map[string]any) {
		limit := tx["gas"]
		if limit == nil {
			limit = tx["gasLimit"]
		}
		t.Check(limit == hexutil.EncodeUint64(gas), hexutil.EncodeUint64(gas), fmt.Sprint(tx))
		has(t, tx, "maxFeePerGas", hexutil.EncodeUint64(feeCap))
		has(t, tx, "maxPriorityFeePerGas", hexutil.EncodeUint64(tip))
	})
	full("STR-HNT-16", "has the gas limit as gas", func(t *suite.T, _ rpc.Wallet, tx map[string]any) {
		has(t, tx, "gas", hexutil.EncodeUint64(gas))
	})
	full("STR-HNT-17", "shares the type", func(t *suite.T, _ rpc.Wallet, tx map[string]any) { has(t, tx, "type", "0x2") })
	s.It("STR-HNT-17", "shares the type of a legacy transaction", func(t *suite.T) {
		has(t, shareBundle(t, []string{"full"}, rpc.NewWallet(t).Legacy()).tx(t), "type", "0x0")
	})
	s.It("STR-HNT-17", "shares the access list", func(t *suite.T) {
		want := types.AccessList{
			{Address: common.Address{0xaa, 19: 0x01}, StorageKeys: []common.Hash{{0xbb, 31: 0x02}, {0xbb, 31: 0x03}}},
			{Address: common.Address{0xaa, 19: 0x04}, StorageKeys: []common.Hash{{0xbb, 31: 0x05}}},
		}
		raw, err := json.Marshal(shareBundle(t, []string{"full"}, rpc.NewWallet(t).WithAccess(want)).tx(t)["accessList"])
		t.Ready(err, "write the access list")
		var list types.AccessList
		err = json.Unmarshal(raw, &list)
		t.Check(err == nil && fmt.Sprint(list) == fmt.Sprint(want), fmt.Sprintf("accessList %v", want), string(raw))
	})
	s.It("STR-HNT-18", "never shares the signature", func(t *suite.T) {
		tx := rpc.NewWallet(t).Transfer(1, data...)
		e := shareBundle(t, []string{"full", "logs", "calldata", "tx_hash", "function_selector", "contract_address", "hash",
			"default_logs"}, tx)
		_, r, v := tx.RawSignatureValues()
		for _, secret := range []string{r.Text(16), v.Text(16)} {
			t.Check(!strings.Contains(strings.ToLower(e.raw), secret), "no part of the signature", e.raw)
		}
		for _, member := range []string{"r", "s", "v", "yParity", "signature", "raw"} {
			_, there := e.tx(t)[member]
			t.Check(!there, "no member "+member, e.raw)
		}
	})
	full("STR-HNT-19", "writes numbers without leading zeros", func(t *suite.T, _ rpc.Wallet, tx map[string]any) {
		for _, member := range []string{"value", "nonce", "type", "chainId", "gas"} {
			text, _ := tx[member].(string)
			t.Check(text == "0x0" || strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0x0"), member+
				" without leading zeros", text)
		}
	})
	s.It("STR-HNT-20", "does not tell of an order without hints", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		checkUntold(t, stream, rpc.Share(t, nil, rpc.NewWallet(t).Transfer(1)))
	})
	s.It("STR-HNT-21", "shares hash and default_logs of a private transaction", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		e, found := waitForEvent(t, stream, rpc.Private(t, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)), nil))
		t.Check(found, "an event", "none")
		list := readLogs(t, e)
		t.Check(len(e.txs) == 0 && len(list) == 1 && list[0].data == "0x", "the hash and one log without data", e.raw)
	})
	s.It("STR-HNT-22", "has no recipient of a contract's making", func(t *suite.T) {
		e := shareBundle(t, []string{"function_selector"}, rpc.NewWallet(t).Create(oneLog))
		_, there := e.tx(t)["to"]
		t.Check(!there, "no to", e.raw)
	})
	s.It("STR-HNT-23", "fills a short selector", func(t *suite.T) {
		has(t, shareBundle(t, []string{"function_selector"}, rpc.NewWallet(t).Transfer(1, 0xab)).tx(t), "functionSelector",
			"0xab000000")
	})
	s.It("STR-HNT-24", "shares all of the logs with logs and default_logs", func(t *suite.T) {
		list := readLogs(t, shareBundle(t, []string{"default_logs", "logs"}, rpc.NewWallet(t).Create(emitCode(swapV2,
			topicA))))
		t.Check(len(list) == 1 && len(list[0].data) == 66, "the log with its data", fmt.Sprint(list))
	})
	// Each set of hints shares exactly what its hints share. The bits of set choose the hints.
	names := []string{"contract_address", "function_selector", "calldata", "tx_hash"}
	for set := 1; set < 1<<len(names); set++ {
		s.It("STR-HNT-25", fmt.Sprintf("shares what set %d shares", set), func(t *suite.T) {
			var chosen []string
			members := map[string]bool{}
			for i, name := range names {
				if set&(1<<i) == 0 {
					continue
				}
				chosen = append(chosen, name)
				for _, member := range [][]string{{"to"}, {"to", "functionSelector"}, {"to", "functionSelector", "callData"},
					{"hash"}}[i] {
					members[member] = true
				}
			}
			var want []string
			for member := range members {
				want = append(want, member)
			}
			slices.Sort(want)
			hasOnly(t, shareBundle(t, chosen, rpc.NewWallet(t).Transfer(1, data...)).tx(t), want...)
		})
	}
	s.It("STR-HNT-25", "shares no hash of a transaction that shares its data and logs", func(t *suite.T) {
		e := shareBundle(t, []string{"calldata", "logs"}, rpc.NewWallet(t).Transfer(1, data...))
		hasOnly(t, e.tx(t), "callData", "functionSelector", "to")
	})
	s.It("STR-HNT-26", "shares no logs of a private transaction that shares its hash", func(t *suite.T) {
		e := sharePrivate(t, []string{"hash"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)))
		t.Check(len(e.txs) == 0 && len(readLogs(t, e)) == 0, "the hash alone", e.raw)
	})
	s.It("STR-HNT-26", "shares no logs of a raw private transaction that shares its hash", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		hints := map[string]any{"fast": false, "privacy": map[string]any{"hints": []string{"hash"}}}
		e := eventOf(t, stream, rpc.PrivateRaw(t, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)), hints))
		t.Check(len(e.txs) == 0 && len(readLogs(t, e)) == 0, "the hash alone", e.raw)
	})
	for n, hint := range []string{"contract_address", "function_selector", "calldata"} {
		s.It("STR-HNT-26", "shares what "+hint+" of a private transaction shares", func(t *suite.T) {
			members := []string{"to", "functionSelector", "callData"}[:n+1]
			hasOnly(t, sharePrivate(t, []string{hint}, rpc.NewWallet(t).Transfer(1, data...)).tx(t), members...)
		})
	}
	s.It("STR-HNT-26", "shares all of a private transaction's logs with logs", func(t *suite.T) {
		list := readLogs(t, sharePrivate(t, []string{"logs"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA))))
		t.Check(len(list) == 1 && len(list[0].data) == 66, "the log with its data", fmt.Sprint(list))
	})
	s.It("STR-NET-01", "shares the network's chain id", func(t *suite.T) {
		has(t, shareBundle(t, []string{"full"}, rpc.NewWallet(t).Transfer(1)).tx(t), "chainId",
			hexutil.EncodeUint64(t.World.Facts.ChainID))
	})
}
