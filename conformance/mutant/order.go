package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// orderMutants returns the mutants that change orders on their way to the bundle RPC. The RPC then
// sends its builders something else than the suite sent, and wrong transactions are included in the
// chain. The last mutants change the RPC's answers about refunds.
func orderMutants() []Mutant {
	return []Mutant{
		{"rpc-of-bundle-only-first-transaction-sent", "rpc", "of a bundle only the first transaction is sent",
			[]string{"RPC-BUN-18"},
			changeFirstParam("eth_sendBundle", func(o map[string]any) {
				if txs, is := o["txs"].([]any); is && len(txs) > 1 {
					o["txs"] = txs[:1]
				}
			})},
		{"rpc-bundles-reversed", "rpc", "bundles stand on their heads", []string{"RPC-BUN-18"},
			changeFirstParam("eth_sendBundle", func(o map[string]any) {
				if txs, is := o["txs"].([]any); is {
					slices.Reverse(txs)
				}
			})},
		{"rpc-every-transaction-of-bundle-may-revert", "rpc", "every transaction of a bundle may revert",
			[]string{"RPC-BUN-18"},
			changeFirstParam("eth_sendBundle", func(o map[string]any) { o["revertingTxHashes"] = hashes(o["txs"]) })},
		{"rpc-cancels-answered-and-forgotten", "rpc", "cancels are answered and forgotten", []string{"RPC-CAN-06"},
			asks("/", func(e *Exchange) bool {
				return e.Method == "eth_cancelBundle" && e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":null}`)
			})},
		{"rpc-private-transactions-tried-for-5-blocks", "rpc", "private transactions are tried for 5 blocks",
			[]string{"RPC-PRI-15"},
			asks("/", func(e *Exchange) bool {
				if head := e.head(); head > 0 {
					changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
						o["maxBlockNumber"] = fmt.Sprintf("%#x", head+5)
					})().Ask(e)
				}
				return false
			})},
		{"rpc-private-transactions-sent-once-more-after-while", "rpc",
			"private transactions are sent once more after a while", []string{"RPC-PRI-15"},
			asks("/", func(e *Exchange) bool {
				if e.Method == "eth_sendPrivateTransaction" {
					body, base := bytes.Clone(e.Asked), e.base
					// if it fails, the mutant survives
					time.AfterFunc(8*time.Second, func() { _, _ = post(context.Background(), base, body) })
				}
				return false
			})},
		{"rpc-fast-ignored", "rpc", "fast is ignored", []string{"RPC-PRI-16"}, changeFirstParam("eth_sendPrivateTransaction",
			func(o map[string]any) {
				delete(object(o["preferences"]), "fast")
			})},
		{"rpc-fast-goes-to-all-builders", "rpc", "fast goes to all builders, and gives back as much as ever",
			[]string{"RPC-PRI-16"},
			changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
				if p := object(o["preferences"]); p["fast"] == true {
					p["fast"] = false
					putWithin(p, "privacy", "builders", []string{"second", "third"})
				}
			})},
		{"rpc-fast-gives-back-half-and-goes-to-one-builder", "rpc", "fast gives back half, and goes to one builder",
			[]string{"RPC-PRI-16"}, asks("/", halveFast)},
		{"rpc-backruns-give-back-50-percent", "rpc", "backruns give back 50 %", []string{"RPC-SHR-27"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				putWithin(o, "privacy", "wantRefund", 50)
			})},
		{"rpc-of-private-transactions-operator-keeps-refunds", "rpc",
			"of private transactions the operator keeps the refunds", []string{"RPC-SHR-27"},
			changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
				preferences := object(o["preferences"])
				putWithin(preferences, "validity", "refund",
					[]any{map[string]any{"address": "0x00000000000000000000000000000000deadbeef",
						"percent": 90}})
			})},
		{"rpc-of-several-refunds-only-first-is-kept", "rpc", "of several refunds only the first is kept",
			[]string{"RPC-SHR-28"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				validity := object(o["validity"])
				for name, list := range validity {
					if all, is := list.([]any); is && len(all) > 1 {
						validity[name] = all[:1]
					}
				}
			})},
		{"rpc-several-refunds-are-same-for-all", "rpc", "several refunds are the same for all", []string{"RPC-SHR-28"},
			changeFirstParam("mev_sendBundle", func(o map[string]any) {
				for _, list := range object(o["validity"]) {
					all, _ := list.([]any)
					for _, entry := range all {
						object(entry)["percent"] = 100 / len(all)
					}
				}
			})},
		{"rpc-refunds-by-address-are-parts-of-usual-90-percent", "rpc", "refunds by address are parts of the usual 90 %",
			[]string{"RPC-PRI-18"},
			changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
				if validity := object(object(o["preferences"])["validity"]); validity["refund"] != nil {
					validity["refundConfig"], validity["refund"] = validity["refund"], nil
				}
			})},
		{"rpc-refunds-by-address-are-read-and-forgotten", "rpc", "refunds by address are read and forgotten",
			[]string{"RPC-PRI-18"},
			changeFirstParam("eth_sendPrivateTransaction", func(o map[string]any) {
				delete(object(o["preferences"]), "validity")
			})},

		{"rpc-refunds-listed-for-another-order", "rpc", "refunds are listed for another order", []string{"RPC-RFR-05"},
			refundRecords(func(r map[string]any) {
				r["hash"] = flip(r["hash"])
			})},
		{"rpc-refunds-listed-with-wei-less", "rpc", "refunds are listed with a wei less", []string{"RPC-RFR-05"},
			refundRecords(func(r map[string]any) {
				r["amount"] = flip(r["amount"])
			})},
		{"rpc-block-of-refund-is-decimal", "rpc", "the block of a refund is decimal", []string{"RPC-RFR-05"},
			refundRecords(func(r map[string]any) {
				r["blockNumber"] = "17"
			})},
		{"rpc-refunds-are-paid-and-not-received", "rpc", "refunds are paid, and not received", []string{"RPC-RFR-05"},
			refundRecords(func(r map[string]any) {
				r["status"] = "paid"
			})},
		{"rpc-refunds-listed-without-recipient", "rpc", "refunds are listed without a recipient", []string{"RPC-RFR-05"},
			refundRecords(func(r map[string]any) { delete(r, "recipient") })},
		{"rpc-refunds-of-first-blocks-listed", "rpc", "refunds of the first blocks are listed", []string{"RPC-RFR-06"},
			member("flashbots_getFeeRefundsByRecipient", "refunds", func(v any) any {
				list, _ := v.([]any)
				if len(list) == 0 {
					return list
				}
				early := map[string]any{}
				for name, value := range object(list[0]) {
					early[name] = value
				}
				early["blockNumber"] = "0x1"
				return append([]any{early}, list...)
			})},
		{"rpc-received-refunds-are-pending-again", "rpc", "received refunds are pending again", []string{"RPC-RFR-08"},
			func() Fault {
				seen := 0
				return refundRecords(func(r map[string]any) {
					if seen++; seen > 2 {
						r["status"] = "pending"
					}
				})()
			}},
	}
}

// changeFirstParam is a fault that changes the first parameter of a method, which is an object.
func changeFirstParam(method string, change func(o map[string]any)) func() Fault {
	return params(method, func(list []any) []any {
		if len(list) > 0 && object(list[0]) != nil {
			change(object(list[0]))
		}
		return list
	})
}

// putWithin sets a member of an object within an object, and makes the inner object if there is
// none.
func putWithin(o map[string]any, within, name string, value any) {
	if o == nil {
		return
	}
	if object(o[within]) == nil {
		o[within] = map[string]any{}
	}
	object(o[within])[name] = value
}

// refundRecords is a fault that changes each refund that is listed for a recipient.
func refundRecords(change func(r map[string]any)) func() Fault {
	return member("flashbots_getFeeRefundsByRecipient", "refunds", func(v any) any {
		list, _ := v.([]any)
		for _, r := range list {
			change(object(r))
		}
		return v
	})
}

// hashes returns the hashes of raw transactions.
func hashes(txs any) (list []string) {
	all, _ := txs.([]any)
	for _, text := range all {
		raw, err := hexutil.Decode(fmt.Sprint(text))
		tx := new(types.Transaction)
		if err == nil && tx.UnmarshalBinary(raw) == nil {
			list = append(list, tx.Hash().Hex())
		}
	}
	return list
}

// halveFast replaces a fast private transaction by a bundle with terms of its own, for the
// operator's builder only.
func halveFast(e *Exchange) bool {
	var call struct {
		Params []struct {
			Tx          string         `json:"tx"`
			Preferences map[string]any `json:"preferences"`
		} `json:"params"`
	}
	if e.Method != "eth_sendPrivateTransaction" || json.Unmarshal(e.Asked, &call) != nil || len(call.Params) == 0 ||
		call.Params[0].Preferences["fast"] != true {
		return false
	}
	head := e.head()
	e.Method = "mev_sendBundle"
	e.Asked = probe.Call{ID: 1, Method: e.Method, Params: []any{map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": fmt.Sprintf("%#x", head+1),
			"maxBlock": fmt.Sprintf("%#x", head+25)},
		"body":    []any{map[string]any{"tx": call.Params[0].Tx, "canRevert": false}},
		"privacy": map[string]any{"hints": []string{"hash"}, "wantRefund": 50},
	}}}.Body()
	e.signAsImpostor()
	if e.forward(e.base) == nil {
		e.edit(func(d any) any {
			if r := at(d, "result"); r != nil {
				object(d)["result"] = r["bundleHash"]
			}
			return d
		})
	}
	return true
}

// head returns the number of the newest block that the target knows. It finds it by having the
// target simulate the transaction of the request; it returns 0 if the answer has no number.
func (e *Exchange) head() uint64 {
	var call struct {
		Params []struct {
			Tx string `json:"tx"`
		} `json:"params"`
	}
	if e.Method != "eth_sendPrivateTransaction" || json.Unmarshal(e.Asked, &call) != nil || len(call.Params) == 0 {
		return 0
	}
	answer, err := post(e.Request.Context(), e.base, probe.Call{ID: 1, Method: "eth_callBundle",
		Params: []any{map[string]any{
			"txs": []string{call.Params[0].Tx}, "blockNumber": "0xffffff", "stateBlockNumber": "latest",
		}}}.Body())
	if err != nil {
		return 0
	}
	var said struct {
		StateBlock uint64 `json:"stateBlockNumber"`
	}
	if answer.Result(&said) != nil {
		return 0
	}
	return said.StateBlock
}

// post sends a request of the mutant's own to the target, signed by the impostor.
func post(ctx context.Context, base string, body []byte) (*probe.RPCAnswer, error) {
	header := map[string]string{"Content-Type": jsonType, probe.SignatureHeader: probe.BodySignature(impostor, body)}
	return probe.NewClient(strings.TrimRight(base, "/"), nil, client.Timeout).Post(ctx, header, body)
}
