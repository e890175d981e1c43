package mutant

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// rpcSingleMutants returns the mutants that take, or refuse, one kind of call that the rule is
// about. Everything else is as it should be.
func rpcSingleMutants() []Mutant {
	return slices.Concat(rpcTakenMutants(), rpcRefusedMutants(), rpcApartMutants())
}

// Results in the form of a success, for calls that should be refused.
const (
	noHash   = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	noBundle = `{"bundleHash":` + noHash + `}`
	noTotals = `{"pending":"0x0","received":"0x0","maxBlockNumber":"0x0"}`
	noList   = `{"refunds":[],"indexedUpTo":"0x0"}`
)

var (
	rawForm     = regexp.MustCompile(`^0x[0-9a-f]{40,}$`)
	numberForm  = regexp.MustCompile(`^0x[0-9a-f]+$`)
	addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// matches says whether a value is a text of a form.
func matches(form *regexp.Regexp, value any) bool {
	text, isText := value.(string)
	return isText && form.MatchString(text)
}

// listIn returns a list within an object; nil if there is none.
func listIn(o map[string]any, name string) []any {
	list, _ := o[name].([]any)
	return list
}

// knownHints says whether all hints of a privacy object are names of the description.
func knownHints(privacy map[string]any) bool {
	for _, hint := range listIn(privacy, "hints") {
		if !slices.Contains([]any{"calldata", "contract_address", "logs", "default_logs", "function_selector", "hash",
			"tx_hash", "full"}, hint) {
			return false
		}
	}
	return true
}

// rpcTakenMutants returns the mutants that take one kind of wrong call.
func rpcTakenMutants() (list []Mutant) {
	for _, m := range []struct {
		id, method, what, clause, result string
		wrong                            func(o map[string]any, list []any) bool
	}{
		{"P01", "eth_sendBundle", "a bundle without transactions is taken", "RPC-BUN-02", noBundle,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "txs")) == 0 }},
		{"P02", "eth_sendBundle", "a bundle of more than 300,000 bytes is taken", "RPC-BUN-04", noBundle,
			func(o map[string]any, _ []any) bool {
				size := 0
				for _, tx := range listIn(o, "txs") {
					text, _ := tx.(string)
					size += len(text) / 2
				}
				return size > 300_000
			}},
		{"P03", "eth_sendBundle", "what is no transaction is taken", "RPC-BUN-05", noBundle,
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(o, "txs"), func(tx any) bool { return !matches(rawForm, tx) })
			}},
		{"P04", "eth_sendBundle", "a blockNumber that is no number is taken", "RPC-BUN-07", noBundle,
			func(o map[string]any, _ []any) bool {
				return o["blockNumber"] != nil && !matches(numberForm, o["blockNumber"])
			}},
		{"P05", "eth_sendBundle", "a replacementUuid that is none is taken", "RPC-BUN-11", noBundle,
			func(o map[string]any, _ []any) bool {
				return o["replacementUuid"] != nil && !matches(uuidForm, o["replacementUuid"])
			}},
		{"P06", "eth_callBundle", "nothing is simulated", "RPC-CAL-12", `{}`,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "txs")) == 0 }},
		{"P07", "eth_callBundle", "a call without blockNumber is taken", "RPC-CAL-13", `{}`,
			func(o map[string]any, _ []any) bool { return o["blockNumber"] == nil }},
		{"P08", "eth_cancelBundle", "a cancel of nothing is taken", "RPC-CAN-02", `null`,
			func(o map[string]any, _ []any) bool { return o["replacementUuid"] == nil }},
		{"P09", "eth_cancelBundle", "a cancel of what is no UUID is taken", "RPC-CAN-03", `null`,
			func(o map[string]any, _ []any) bool {
				return o["replacementUuid"] != nil && !matches(uuidForm, o["replacementUuid"])
			}},
		{"P10", "eth_cancelPrivateTransaction", "a cancel without txHash is taken", "RPC-CPR-05", `false`,
			func(o map[string]any, _ []any) bool { return o["txHash"] == nil }},
		{"P11", delayedList, "hash is taken without both bounds", "RPC-DLY-02", noList, func(o map[string]any, _ []any) bool {
			return o["hash"] != nil && (o["blockRangeFrom"] == nil || o["blockRangeTo"] == nil)
		}},
		{"P12", "eth_sendPrivateTransaction", "what is no private transaction is taken", "RPC-PRI-05", noHash,
			func(o map[string]any, _ []any) bool { return o["preferences"] == nil && !matches(rawForm, o["tx"]) }},
		{"P13", "eth_sendPrivateTransaction", "a hint that nobody knows is taken", "RPC-PRI-10", noHash,
			func(o map[string]any, _ []any) bool { return !knownHints(at(o, "preferences", "privacy")) }},
		{"P14", "eth_sendPrivateRawTransaction", "what is no raw transaction is taken", "RPC-PRR-03", noHash,
			func(_ map[string]any, list []any) bool { return len(list) > 0 && !matches(rawForm, list[0]) }},
		{"P15", byBundle, "bundleHash is bundle_hash", "RPC-RFB-02", noList,
			func(o map[string]any, _ []any) bool { return o["bundleHash"] != nil }},
		{"P16", byBlock, "blockNumber is block_number", "RPC-RFK-02", noList,
			func(o map[string]any, _ []any) bool { return o["blockNumber"] != nil }},
		{"P17", byRecipient, "refunds of what is no address are none", "RPC-RFR-07", noList,
			func(o map[string]any, _ []any) bool { return !matches(addressForm, o["recipient"]) }},
		{"P18", refundTotals, "totals of what is no address are 0x0", "RPC-RFT-03", noTotals,
			func(_ map[string]any, list []any) bool { return len(list) == 0 || !matches(addressForm, list[0]) }},
		{"P19", "flashbots_setFeeRefundRecipient", "refunds may go to what is no address", "RPC-SET-04",
			`{"from":"0x","to":"0x"}`, func(_ map[string]any, list []any) bool {
				return len(list) < 2 || !matches(addressForm, list[1])
			}},
		{"P20", "mev_sendBundle", "any version is taken", "RPC-SHR-03", noBundle,
			func(o map[string]any, _ []any) bool { return o["version"] != "v0.1" }},
		{"P21", "mev_sendBundle", "a window may end before it begins", "RPC-SHR-05", noBundle,
			func(o map[string]any, _ []any) bool {
				window := at(o, "inclusion")
				return window["maxBlock"] != nil && quantity(window["maxBlock"]) < quantity(window["block"]) &&
					quantity(window["maxBlock"]) > 0
			}},
		{"P22", "mev_sendBundle", "an empty body is taken", "RPC-SHR-09", noBundle,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "body")) == 0 }},
		{"P23", "mev_sendBundle", "a second backrun is taken", "RPC-SHR-14", noBundle,
			func(o map[string]any, _ []any) bool { return follows(o) && len(listIn(o, "body")) > 2 }},
		{"P24", "mev_sendBundle", "a refund for an element that is not there is taken", "RPC-SHR-16", noBundle,
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(at(o, "validity"), "refund"), func(entry any) bool {
					index, _ := object(entry)["bodyIdx"].(float64)
					return int(index) >= len(listIn(o, "body"))
				})
			}},
		{"P25", "mev_sendBundle", "any word is a hint", "RPC-SHR-19", noBundle,
			func(o map[string]any, _ []any) bool { return !knownHints(at(o, "privacy")) }},
	} {
		list = append(list, Mutant{m.id, "rpc", m.what, []string{m.clause}, decided(m.method, m.wrong, `"result":`+m.result)})
	}
	return list
}

// follows says whether a bundle begins with the hash of a hint.
func follows(o map[string]any) bool {
	body := listIn(o, "body")
	return len(body) > 0 && object(body[0])["hash"] != nil
}

// rpcRefusedMutants returns the mutants that refuse one kind of right call.
func rpcRefusedMutants() (list []Mutant) {
	for _, m := range []struct {
		id, method, what, clause string
		right                    func(o map[string]any, list []any) bool
	}{
		{"P31", "eth_sendBundle", "a bundle with minTimestamp is refused", "RPC-BUN-08",
			func(o map[string]any, _ []any) bool { return o["minTimestamp"] != nil }},
		{"P32", "eth_sendBundle", "a bundle with revertingTxHashes is refused", "RPC-BUN-10",
			func(o map[string]any, _ []any) bool { return o["revertingTxHashes"] != nil }},
		{"P33", "eth_sendBundle", "a bundle must name builders", "RPC-BUN-19",
			func(o map[string]any, _ []any) bool { return o["builders"] != nil && len(listIn(o, "builders")) == 0 }},
		{"P34", "eth_callBundle", "latest is no state", "RPC-CAL-14",
			func(o map[string]any, _ []any) bool { return o["stateBlockNumber"] == "latest" }},
		{"P35", delayedTotals, "totals need a range", "RPC-DLT-02",
			func(o map[string]any, _ []any) bool { return o["blockRangeFrom"] == nil }},
		{"P36", delayedTotals, "totals of one block are refused", "RPC-DLT-03", ofOneBlock},
		{"P37", delayedList, "a hash with its range is refused", "RPC-DLY-03",
			func(o map[string]any, _ []any) bool { return o["hash"] != nil && o["blockRangeFrom"] != nil }},
		{"P38", delayedList, "a range of one block is refused", "RPC-DLY-06", ofOneBlock},
		{"P39", "eth_sendPrivateTransaction", "a private transaction needs maxBlockNumber", "RPC-PRI-02",
			func(o map[string]any, _ []any) bool { return o["maxBlockNumber"] == nil }},
		{"P40", "eth_sendPrivateTransaction", "maxBlockNumber is refused", "RPC-PRI-03",
			func(o map[string]any, _ []any) bool { return o["maxBlockNumber"] != nil }},
		{"P41", "eth_sendPrivateTransaction", "fast is refused", "RPC-PRI-06",
			func(o map[string]any, _ []any) bool { return at(o, "preferences")["fast"] == true }},
		{"P42", "eth_sendPrivateTransaction", "the hint logs is refused", "RPC-PRI-08",
			func(o map[string]any, _ []any) bool {
				return slices.Contains(listIn(at(o, "preferences", "privacy"), "hints"), any("logs"))
			}},
		{"P43", "eth_sendPrivateTransaction", "names of builders are refused", "RPC-PRI-11",
			func(o map[string]any, _ []any) bool { return at(o, "preferences", "privacy")["builders"] != nil }},
		{"P44", "eth_sendPrivateTransaction", "a second refund is refused", "RPC-PRI-12",
			func(o map[string]any, _ []any) bool {
				return len(listIn(at(o, "preferences", "validity"), "refund")) > 1
			}},
		{"P45", "flashbots_setFeeRefundRecipient", "an address in lower case is refused", "RPC-SET-03",
			func(_ map[string]any, list []any) bool {
				text, _ := list[0].(string)
				return text == strings.ToLower(text)
			}},
		{"P46", "mev_sendBundle", "v0.1 is no version", "RPC-SHR-02",
			func(o map[string]any, _ []any) bool { return o["version"] == "v0.1" }},
		{"P47", "mev_sendBundle", "a bundle needs maxBlock", "RPC-SHR-06",
			func(o map[string]any, _ []any) bool { return at(o, "inclusion")["maxBlock"] == nil }},
		{"P48", "mev_sendBundle", "nothing may revert", "RPC-SHR-10",
			func(o map[string]any, _ []any) bool { return hasElement(o, "canRevert", true) }},
		{"P49", "mev_sendBundle", "a bundle within a bundle is refused", "RPC-SHR-11",
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(o, "body"), func(one any) bool { return object(one)["bundle"] != nil })
			}},
		{"P50", "mev_sendBundle", "the hint full is refused", "RPC-SHR-18",
			func(o map[string]any, _ []any) bool {
				return slices.Contains(listIn(at(o, "privacy"), "hints"), any("full"))
			}},
		{"P51", "mev_sendBundle", "privacy.builders is refused", "RPC-SHR-20",
			func(o map[string]any, _ []any) bool { return at(o, "privacy")["builders"] != nil }},
		{"P52", "mev_sendBundle", "metadata is refused", "RPC-SHR-21",
			func(o map[string]any, _ []any) bool { return o["metadata"] != nil }},
		{"P53", "mev_sendBundle", "an empty validity is refused", "RPC-SHR-22",
			func(o map[string]any, _ []any) bool { return o["validity"] != nil && len(at(o, "validity")) == 0 }},
		{"P54", "mev_sendBundle", "nothing can be followed", "RPC-SHR-26",
			func(o map[string]any, _ []any) bool { return follows(o) }},
		{"P55", "mev_simBundle", "timeout is refused", "RPC-SIM-18", func(o map[string]any, list []any) bool {
			return at(o, "simOptions")["timeout"] != nil || len(list) > 1 && object(list[1])["timeout"] != nil
		}},
	} {
		list = append(list, Mutant{m.id, "rpc", m.what, []string{m.clause},
			decided(m.method, m.right, `"error":{"code":-32000,"message":"no"}`)})
	}
	return list
}

// ofOneBlock says whether a range has one block.
func ofOneBlock(o map[string]any, _ []any) bool {
	return o["blockRangeFrom"] != nil && o["blockRangeFrom"] == o["blockRangeTo"]
}

// hasElement says whether an element of a body has a member with this value.
func hasElement(o map[string]any, name string, value any) bool {
	return slices.ContainsFunc(listIn(o, "body"), func(one any) bool { return object(one)[name] == value })
}

// decided is a fault that answers calls of one kind by itself. Kind gets the first parameter as an
// object, and all parameters. Outcome is the member result or error of the answer.
func decided(method string, kind func(o map[string]any, list []any) bool, outcome string) func() Fault {
	return asks("/", func(e *Exchange) bool {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Params []any           `json:"params"`
		}
		if e.Method != method || json.Unmarshal(e.Asked, &call) != nil || len(call.Params) == 0 && method != refundTotals {
			return false
		}
		var o map[string]any
		if len(call.Params) > 0 {
			o = object(call.Params[0])
		}
		return kind(o, call.Params) &&
			e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":`+string(call.ID)+`,`+outcome+`}`)
	})
}
