package mutant

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// impostor is the key that signs requests that mutants have changed.
var impostor = func() *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("gavel conformance impostor")))
	if err != nil {
		panic(err) // only if the hash were beyond the curve's order
	}
	return key
}()

// signed signs the changed request, by the impostor's key.
func (e *Exchange) signed() {
	e.Request.Header.Set(probe.SignatureHeader, probe.BodySignature(impostor, e.Asked))
}

// result is a fault that changes the results of a method, or of all methods if method is empty.
func result(method string, change func(result any) any) func() Fault {
	return answers("/", func(e *Exchange) {
		if method != "" && e.Method != method {
			return
		}
		e.edit(func(d any) any {
			if o := object(d); o != nil {
				if value, has := o["result"]; has {
					o["result"] = change(value)
				}
			}
			return d
		})
	})
}

// member is a fault that changes one member of the results of a method.
func member(method, name string, change func(value any) any) func() Fault {
	return result(method, func(r any) any {
		if o := object(r); o != nil {
			if value, has := o[name]; has {
				o[name] = change(value)
			}
		}
		return r
	})
}

// params is a fault that changes the parameters of calls of a method.
func params(method string, change func(list []any) []any) func() Fault {
	return asks("/", func(e *Exchange) bool {
		var d map[string]any
		if e.Method != method || json.Unmarshal(e.Asked, &d) != nil {
			return false
		}
		list, _ := d["params"].([]any)
		d["params"] = change(list)
		if raw, err := json.Marshal(d); err == nil {
			e.Asked = raw
			e.signed()
		}
		return false
	})
}

// envelope is a fault that changes the object of a JSON-RPC answer.
func envelope(change func(o map[string]any)) func() Fault {
	return answers("/", func(e *Exchange) {
		e.edit(func(d any) any {
			if o := object(d); o != nil {
				change(o)
			}
			return d
		})
	})
}

// takesAll is a fault that turns refusals of a method into successes.
func takesAll(method string) func() Fault {
	return answers("/", func(e *Exchange) {
		if e.Method != method {
			return
		}
		e.Status = http.StatusOK
		e.edit(func(d any) any {
			if o := object(d); o != nil && o["error"] != nil {
				delete(o, "error")
				o["result"] = map[string]any{}
			}
			return d
		})
	})
}

// refusesAll is a fault that answers each call of a method with an error.
func refusesAll(method string) func() Fault {
	return answers("/", func(e *Exchange) {
		if e.Method == method {
			e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`)
		}
	})
}

func constant(value any) func(any) any { return func(any) any { return value } }

// more makes a decimal number in a text larger: it appends a digit.
func more(value any) any {
	text, _ := value.(string)
	return text + "1"
}

// rpcMutants returns the mutants that are put before the bundle RPC.
func rpcMutants() []Mutant {
	list := []Mutant{
		{"R01", "rpc", "ids are null", []string{"RPC-ENV-01", "RPC-ENV-02", "RPC-ENV-03"}, envelope(func(o map[string]any) {
			o["id"] = nil
		})},
		{"R02", "rpc", "ids are text", []string{"RPC-ENV-02"}, envelope(func(o map[string]any) {
			if number, is := o["id"].(json.Number); is {
				o["id"] = number.String()
			}
		})},
		{"R03", "rpc", "ids are numbers of floating point", []string{"RPC-ENV-02"}, envelope(func(o map[string]any) {
			if number, is := o["id"].(json.Number); is {
				o["id"], _ = number.Float64()
			}
		})},
		{"R04", "rpc", "results have error null beside them", []string{"RPC-ENV-04"}, envelope(func(o map[string]any) {
			if _, has := o["result"]; has {
				o["error"] = nil
			}
		})},
		{"R05", "rpc", "errors have result null beside them", []string{"RPC-ENV-04"}, envelope(func(o map[string]any) {
			if o["error"] != nil {
				o["result"] = nil
			}
		})},
		{"R06", "rpc", "jsonrpc is 1.0", []string{"RPC-ENV-01"}, envelope(func(o map[string]any) { o["jsonrpc"] = "1.0" })},
		{"R07", "rpc", "what cannot be read is a success", []string{"RPC-ENV-05", "RPC-ENV-06", "RPC-ENV-09", "RPC-ENV-11",
			"RPC-ENV-13"}, answers("/", func(e *Exchange) {
			if strings.Contains(string(e.Body), `"code":-32700`) || strings.Contains(string(e.Body), `"code":-32600`) {
				e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"result":true}`)
			}
		})},
		{"R08", "rpc", "refusals have status 500", []string{"RPC-ENV-05", "RPC-ENV-16"}, answers("/", func(e *Exchange) {
			if strings.Contains(string(e.Body), `"error"`) {
				e.Status = http.StatusInternalServerError
			}
		})},
		{"R09", "rpc", "answers are text/plain", []string{"RPC-ENV-18"}, answers("/", func(e *Exchange) {
			e.Header.Set("Content-Type", "text/plain")
		})},
		{"R10", "rpc", "any content type is JSON", []string{"RPC-ENV-14"}, asks("/", func(e *Exchange) bool {
			e.Request.Header.Set("Content-Type", jsonType)
			return false
		})},
		{"R11", "rpc", "of a list only the first request is answered", []string{"RPC-ENV-10"},
			answers("/", func(e *Exchange) {
				e.edit(func(d any) any {
					if all, is := d.([]any); is && len(all) > 1 {
						return all[:1]
					}
					return d
				})
			})},
		{"R12", "rpc", "requests without id are answered", []string{"RPC-ENV-12"}, answers("/", func(e *Exchange) {
			if e.Status == http.StatusNoContent {
				e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"result":true}`)
			}
		})},
		{"R13", "rpc", "after 500 requests come 429s", []string{"RPC-LIM-01"}, func() Fault {
			n := 0
			return Fault{Ask: func(e *Exchange) bool {
				n++
				return n > 500 && e.say(http.StatusTooManyRequests, jsonType, "{}")
			}}
		}},
		{"R14", "rpc", "unknown members are refused without their name", []string{"RPC-ENV-17"},
			asks("/", func(e *Exchange) bool {
				return strings.Contains(string(e.Asked), "conformanceSuite") &&
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"}}`)
			})},
		{"R15", "rpc", "errors are success without a result", []string{"RPC-ERR-01", "RPC-ENV-04"},
			envelope(func(o map[string]any) { delete(o, "error") })},
		{"R16", "rpc", "errors are texts without a code", []string{"RPC-ERR-03"}, envelope(func(o map[string]any) {
			if o["error"] != nil {
				o["error"] = "no"
			}
		})},
		{"R17", "rpc", "GET is answered as a call", []string{"RPC-ENV-15"}, asks("/", func(e *Exchange) bool {
			return e.Request.Method == http.MethodGet && e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":true}`)
		})},
		{"R18", "rpc", "unknown methods are refused for their parameters, and so are known ones", []string{"RPC-VER-03"},
			envelope(func(o map[string]any) {
				if e := at(o, "error"); e != nil {
					e["code"] = -32601
				}
			})},

		{"R21", "rpc", "any signature will do", []string{
			"RPC-AUT-01", "RPC-AUT-03", "RPC-AUT-04", "RPC-AUT-06", "RPC-AUT-08", "RPC-AUT-09", "RPC-AUT-10", "RPC-AUT-13",
			"RPC-AUT-14", "RPC-AUT-19", "RPC-CPR-02", "RPC-CAN-07",
		}, asks("/", func(e *Exchange) bool { e.signed(); return false })},
		{"R22", "rpc", "a missing signature will do", []string{"RPC-AUT-01", "RPC-AUT-13"}, asks("/", func(e *Exchange) bool {
			if e.Request.Header.Get(probe.SignatureHeader) == "" {
				e.signed()
			}
			return false
		})},
		{"R23", "rpc", "no signature will do", []string{"RPC-AUT-02", "RPC-AUT-07", "RPC-AUT-11", "RPC-AUT-12", "RPC-AUT-18"},
			asks("/", func(e *Exchange) bool {
				e.Request.Header.Set(probe.SignatureHeader, "0x00:0x00")
				return false
			})},
		{"R24", "rpc", "addresses must have their checksum", []string{"RPC-AUT-11"}, asks("/", func(e *Exchange) bool {
			value := e.Request.Header.Get(probe.SignatureHeader)
			return value != "" && value == strings.ToLower(value) && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
		})},
		{"R25", "rpc", "v must be 27 or 28", []string{"RPC-AUT-07"}, asks("/", func(e *Exchange) bool {
			value := e.Request.Header.Get(probe.SignatureHeader)
			return strings.HasSuffix(value, "00") && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`) ||
				strings.HasSuffix(value, "01") && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
		})},
		{"R26", "rpc", "only the first signer is known", []string{"RPC-AUT-12"}, func() Fault {
			first := ""
			return Fault{Ask: func(e *Exchange) bool {
				address, _, _ := strings.Cut(e.Request.Header.Get(probe.SignatureHeader), ":")
				if first == "" {
					first = address
				}
				return address != first && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
			}}
		}},

		{"R31", "rpc", "eth_sendBundle answers another hash", []string{"RPC-BUN-01", "RPC-BUN-15"},
			member("eth_sendBundle", "bundleHash", flip)},
		{"R32", "rpc", "there is no smart", []string{"RPC-BUN-12"}, result("eth_sendBundle", func(r any) any {
			delete(object(r), "smart")
			return r
		})},
		{"R33", "rpc", "smart is a boolean", []string{"RPC-BUN-12"}, member("eth_sendBundle", "smart", constant(true))},
		{"R34", "rpc", "smart is always there", []string{"RPC-BUN-13"}, result("eth_sendBundle", func(r any) any {
			if o := object(r); o != nil {
				o["smart"] = "true"
			}
			return r
		})},
		{"R35", "rpc", "of more than 100 transactions the first 100 are taken", []string{"RPC-BUN-03"},
			params("eth_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					if txs, is := object(list[0])["txs"].([]any); is && len(txs) > 100 {
						object(list[0])["txs"] = txs[:100]
					}
				}
				return list
			})},

		{"R41", "rpc", "eth_callBundle answers another hash", []string{"RPC-CAL-01"},
			member("eth_callBundle", "bundleHash", flip)},
		{"R42", "rpc", "coinbaseDiff is another", []string{"RPC-CAL-02", "RPC-CAL-03"},
			member("eth_callBundle", "coinbaseDiff", more)},
		{"R43", "rpc", "bundleGasPrice is another", []string{"RPC-CAL-03"}, member("eth_callBundle", "bundleGasPrice", more)},
		{"R44", "rpc", "totalGasUsed is another", []string{"RPC-CAL-04"}, member("eth_callBundle", "totalGasUsed",
			constant(1))},
		{"R45", "rpc", "stateBlockNumber is another", []string{"RPC-CAL-05"}, member("eth_callBundle", "stateBlockNumber",
			constant(1))},
		{"R46", "rpc", "results stand on their heads", []string{"RPC-CAL-06"},
			member("eth_callBundle", "results", func(v any) any {
				all, _ := v.([]any)
				for i := range len(all) / 2 {
					all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
				}
				return all
			})},
		{"R47", "rpc", "fees are others", []string{"RPC-CAL-07"}, member("eth_callBundle", "results", func(v any) any {
			for _, r := range v.([]any) {
				object(r)["gasFees"] = "1"
			}
			return v
		})},
		{"R48", "rpc", "payments do not count", []string{"RPC-CAL-08", "RPC-CAL-02"},
			member("eth_callBundle", "ethSentToCoinbase", constant("0"))},
		{"R49", "rpc", "reverts are not told", []string{"RPC-CAL-09"}, member("eth_callBundle", "results", func(v any) any {
			for _, r := range v.([]any) {
				delete(object(r), "error")
			}
			return v
		})},
		{"R50", "rpc", "timestamp is ignored", []string{"RPC-CAL-15"}, dropped("eth_callBundle", "timestamp")},
		{"R51", "rpc", "blockNumber is ignored", []string{"RPC-CAL-16"}, params("eth_callBundle", func(list []any) []any {
			if len(list) > 0 && object(list[0]) != nil {
				object(list[0])["blockNumber"] = "0x1"
			}
			return list
		})},
		{"R52", "rpc", "stateBlockNumber is ignored", []string{"RPC-CAL-05", "RPC-CAL-17"},
			dropped("eth_callBundle", "stateBlockNumber")},
		{"R53", "rpc", "numbers are hex", []string{"RPC-CAL-02", "RPC-CAL-18"}, result("eth_callBundle", func(r any) any {
			if o := object(r); o != nil {
				o["coinbaseDiff"] = "0x1"
				for _, one := range o["results"].([]any) {
					object(one)["gasUsed"] = "0x5208"
				}
			}
			return r
		})},
		{"R54", "rpc", "each transaction is run by itself", []string{"RPC-CAL-20"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 {
					if txs, is := object(list[0])["txs"].([]any); is && len(txs) > 1 {
						object(list[0])["txs"] = txs[1:]
					}
				}
				return list
			})},
		{"R56", "rpc", "the state is that of the block before", []string{"RPC-CAL-05"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 && object(list[0]) != nil {
					object(list[0])["stateBlockNumber"] = "0x1"
				}
				return list
			})},

		{"R61", "rpc", "a bundle always works", []string{"RPC-SIM-02"}, member("mev_simBundle", "success", constant(true))},
		{"R62", "rpc", "a bundle never works", []string{"RPC-SIM-01", "RPC-SIM-22"},
			member("mev_simBundle", "success", constant(false))},
		{"R63", "rpc", "stateBlock is another", []string{"RPC-SIM-03"}, member("mev_simBundle", "stateBlock",
			constant("0x1"))},
		{"R64", "rpc", "gasUsed is decimal", []string{"RPC-SIM-04"}, member("mev_simBundle", "gasUsed", constant("42000"))},
		{"R65", "rpc", "profit is another", []string{"RPC-SIM-05", "RPC-SIM-06"}, member("mev_simBundle", "profit", more)},
		{"R66", "rpc", "mevGasPrice is another", []string{"RPC-SIM-06"}, member("mev_simBundle", "mevGasPrice", more)},
		{"R67", "rpc", "nothing can be refunded", []string{"RPC-SIM-07", "RPC-SIM-20"},
			member("mev_simBundle", "refundableValue", constant("0x0"))},
		{"R68", "rpc", "logs are empty", []string{"RPC-SIM-08", "RPC-SIM-13", "RPC-SIM-14", "RPC-SIM-15", "RPC-SIM-16"},
			member("mev_simBundle", "logs", constant([]any{}))},
		{"R69", "rpc", "simOptions are ignored", []string{"RPC-SIM-10"}, dropped("mev_simBundle", "simOptions")},
		{"R70", "rpc", "the second parameter is ignored", []string{"RPC-SIM-11", "RPC-SIM-13", "RPC-SIM-14", "RPC-SIM-16"},
			params("mev_simBundle", func(list []any) []any { return list[:min(len(list), 1)] })},
		{"R71", "rpc", "refunds are ignored", []string{"RPC-SIM-20"}, dropped("mev_simBundle", "validity")},
		{"R72", "rpc", "the state is always that of the first block", []string{"RPC-SIM-12", "RPC-SIM-03"},
			params("mev_simBundle", func(list []any) []any {
				if len(list) == 0 {
					return list
				}
				return []any{list[0], map[string]any{"parentBlock": "0x1"}}
			})},
		{"R73", "rpc", "canRevert is ignored", []string{"RPC-SIM-22"}, params("mev_simBundle", func(list []any) []any {
			if len(list) > 0 {
				all, _ := object(list[0])["body"].([]any)
				for _, one := range all {
					delete(object(one), "canRevert")
				}
			}
			return list
		})},

		{"R81", "rpc", "the hash is the double hash", []string{"RPC-PRI-01", "RPC-PRI-14"},
			result("eth_sendPrivateTransaction", flip)},
		{"R82", "rpc", "the raw method answers another hash", []string{"RPC-PRR-01", "RPC-PRR-02"},
			result("eth_sendPrivateRawTransaction", flip)},
		{"R83", "rpc", "every cancel succeeds", []string{"RPC-CPR-02", "RPC-CPR-03", "RPC-CPR-04"},
			result("eth_cancelPrivateTransaction", constant(true))},
		{"R84", "rpc", "no cancel succeeds", []string{"RPC-CPR-01"}, result("eth_cancelPrivateTransaction", constant(false))},
		{"R86", "rpc", "mev_sendBundle answers another hash", []string{"RPC-SHR-23", "RPC-SHR-24"},
			member("mev_sendBundle", "bundleHash", flip)},
		{"R87", "rpc", "mev_sendBundle answers the bare hash", []string{"RPC-SHR-01"},
			result("mev_sendBundle", func(r any) any { return object(r)["bundleHash"] })},

		{"R91", "rpc", "totals are decimal", []string{"RPC-RFT-01", "RPC-RFT-02", "RPC-DLT-01"}, result("", func(r any) any {
			if o := object(r); o != nil && o["pending"] != nil {
				o["pending"], o["received"] = "0", "0"
			}
			return r
		})},
		{"R92", "rpc", "no refunds are null", []string{"RPC-RFR-01", "RPC-DLY-01", "RPC-RFB-01", "RPC-RFK-01"},
			member("", "refunds", constant(nil))},
		{"R93", "rpc", "there is always a cursor", []string{"RPC-RFR-02", "RPC-DLY-05"}, result("", func(r any) any {
			if o := object(r); o != nil && o["refunds"] != nil {
				o["cursor"], o["nextCursor"] = "x", "x"
			}
			return r
		})},
		{"R94", "rpc", "addresses come back with checksums", []string{"RPC-SET-01"}, result("flashbots_setFeeRefundRecipient",
			func(r any) any {
				if o := object(r); o != nil {
					o["from"] = strings.ToUpper(o["from"].(string))
				}
				return r
			})},
		{"R95", "rpc", "indexedUpTo is a number", []string{"RPC-DLY-01", "RPC-DLT-01"},
			member("", "indexedUpTo", constant(7))},
		{"R97", "rpc", "statistics are empty", []string{"RPC-AUT-17"}, result("flashbots_getUserStatsV2", func(any) any {
			return map[string]any{}
		})},
		{"R98", "rpc", "what is too much is refused without Retry-After", []string{"RPC-LIM-02"},
			answers("/", func(e *Exchange) { e.Header.Del("Retry-After") })},
		{"R99", "rpc", "what is too much is answered with 200", []string{"RPC-LIM-02"}, status("/", 429, 429, 200)},
		{"R101", "rpc", "of an element that is several things the transaction counts, and one that is nothing is left out",
			[]string{"RPC-SHR-30"}, params("mev_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					all, _ := object(list[0])["body"].([]any)
					var kept []any
					for _, one := range all {
						element := object(one)
						if element["tx"] != nil {
							delete(element, "hash")
							delete(element, "bundle")
						}
						if element["tx"] != nil || element["hash"] != nil || element["bundle"] != nil {
							kept = append(kept, one)
						}
					}
					object(list[0])["body"] = kept
				}
				return list
			})},
		{"R102", "rpc", "a bundle without a block is for its maxBlock", []string{"RPC-SHR-04"},
			params("mev_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					if inclusion := at(list[0], "inclusion"); inclusion != nil && inclusion["block"] == nil {
						inclusion["block"] = inclusion["maxBlock"]
					}
				}
				return list
			})},
		{"R103", "rpc", "pages may not send a signature", []string{"RPC-ENV-20"}, answers("/", func(e *Exchange) {
			e.Header.Set("Access-Control-Allow-Headers", "content-type")
		})},
		{"R104", "rpc", "pages may ask and read no answer", []string{"RPC-ENV-20"}, answers("/", func(e *Exchange) {
			if e.Request.Method == http.MethodPost {
				e.Header.Del("Access-Control-Allow-Origin")
			}
		})},
		{"R105", "rpc", "the service's description lacks most methods", []string{"RPC-ENV-21"},
			member("rpc.discover", "methods", func(v any) any {
				all, _ := v.([]any)
				return all[:min(len(all), 1)]
			})},
		{"R106", "rpc", "totals of what followers brought are decimal", []string{"RPC-RFM-01"}, result("", func(r any) any {
			if o := object(r); o != nil && o["total"] != nil {
				o["total"] = "0"
			}
			return r
		})},
		{"R107", "rpc", "addresses are cut to what fits", []string{"RPC-RFM-02"}, asks("/", func(e *Exchange) bool {
			return strings.Contains(e.Method, "MevRefundTotal") && strings.Contains(string(e.Asked), `"0x1234"`) &&
				e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":{"total":"0x0","pending":"0x0"}}`)
		})},
		{"R108", "rpc", "old statistics have the names of the new ones", []string{"RPC-VER-04"}, result("", func(r any) any {
			if o := object(r); o != nil && o["is_high_priority"] != nil {
				o["isHighPriority"] = o["is_high_priority"]
				delete(o, "is_high_priority")
			}
			return r
		})},
		{"R96", "rpc", "a stranger has refunds", []string{"RPC-RFT-02"}, member("flashbots_getFeeRefundTotalsByRecipient",
			"pending", constant("0x1"))},
	}
	for _, m := range []struct {
		id, method string
		takes      []string
		refuses    []string
	}{
		{"1", "eth_sendBundle", []string{"RPC-BUN-02", "RPC-BUN-03", "RPC-BUN-04", "RPC-BUN-05", "RPC-BUN-06", "RPC-BUN-07",
			"RPC-BUN-09", "RPC-BUN-11", "RPC-BUN-16"}, []string{"RPC-BUN-08", "RPC-BUN-10", "RPC-BUN-14", "RPC-BUN-15",
			"RPC-BUN-17", "RPC-BUN-19"}},
		{"2", "eth_callBundle", []string{"RPC-CAL-10", "RPC-CAL-12", "RPC-CAL-13", "RPC-CAL-17"},
			[]string{"RPC-CAL-14", "RPC-CAL-19"}},
		{"3", "eth_cancelBundle", []string{"RPC-CAN-02", "RPC-CAN-03"}, []string{"RPC-CAN-01", "RPC-CAN-04", "RPC-CAN-05"}},
		{"4", "mev_sendBundle", []string{"RPC-SHR-03", "RPC-SHR-04", "RPC-SHR-05", "RPC-SHR-07", "RPC-SHR-08", "RPC-SHR-09",
			"RPC-SHR-12", "RPC-SHR-13", "RPC-SHR-14", "RPC-SHR-15", "RPC-SHR-16", "RPC-SHR-17", "RPC-SHR-19", "RPC-SHR-25",
			"RPC-SHR-29"}, []string{"RPC-SHR-02", "RPC-SHR-06", "RPC-SHR-10", "RPC-SHR-11", "RPC-SHR-18", "RPC-SHR-20",
			"RPC-SHR-21", "RPC-SHR-22", "RPC-SHR-26"}},
		{"5", "mev_simBundle", []string{"RPC-SIM-19"}, []string{"RPC-SIM-09", "RPC-SIM-17", "RPC-SIM-18", "RPC-SIM-21",
			"RPC-SIM-23"}},
		{"6", "eth_sendPrivateTransaction", []string{"RPC-PRI-04", "RPC-PRI-05", "RPC-PRI-10", "RPC-PRI-13"},
			[]string{"RPC-PRI-02", "RPC-PRI-03", "RPC-PRI-06", "RPC-PRI-07", "RPC-PRI-08", "RPC-PRI-09", "RPC-PRI-11",
				"RPC-PRI-12"}},
		{"7", "eth_sendPrivateRawTransaction", []string{"RPC-PRR-03"}, []string{"RPC-PRR-01", "RPC-PRR-02"}},
		{"8", "eth_cancelPrivateTransaction", []string{"RPC-CPR-05"}, []string{"RPC-CPR-03"}},
		{"9", "flashbots_getFeeRefundTotalsByRecipient", []string{"RPC-RFT-03"}, []string{"RPC-RFT-01"}},
		{"10", "flashbots_getFeeRefundsByRecipient", []string{"RPC-RFR-04", "RPC-RFR-07"},
			[]string{"RPC-RFR-01", "RPC-RFR-03"}},
		{"11", "flashbots_getFeeRefundsByBundle", []string{"RPC-RFB-02"}, []string{"RPC-RFB-01"}},
		{"12", "flashbots_getFeeRefundsByBlock", []string{"RPC-RFK-02"}, []string{"RPC-RFK-01"}},
		{"13", "flashbots_setFeeRefundRecipient", []string{"RPC-SET-02", "RPC-SET-04"}, []string{"RPC-SET-01", "RPC-SET-03"}},
		{"14", "buildernet_getDelayedRefunds", []string{"RPC-DLY-02", "RPC-DLY-04"}, []string{"RPC-DLY-03", "RPC-DLY-06"}},
		{"15", "buildernet_getDelayedRefundTotalsByRecipient", nil, []string{"RPC-DLT-02", "RPC-DLT-03"}},
	} {
		if m.takes != nil {
			list = append(list, Mutant{"T" + m.id, "rpc", m.method + " is never refused", m.takes, takesAll(m.method)})
		}
		list = append(list, Mutant{"N" + m.id, "rpc", m.method + " is always refused", m.refuses, refusesAll(m.method)})
	}
	return list
}

// dropped is a fault that removes a member of the first parameter.
func dropped(method, name string) func() Fault {
	return params(method, func(list []any) []any {
		if len(list) > 0 {
			delete(object(list[0]), name)
		}
		return list
	})
}
