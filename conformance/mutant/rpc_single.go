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
		{"rpc-bundle-without-transactions-taken", "eth_sendBundle", "a bundle without transactions is taken", "RPC-BUN-02",
			noBundle,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "txs")) == 0 }},
		{"rpc-bundle-of-more-than-300000-bytes-taken", "eth_sendBundle", "a bundle of more than 300,000 bytes is taken",
			"RPC-BUN-04", noBundle,
			func(o map[string]any, _ []any) bool {
				size := 0
				for _, tx := range listIn(o, "txs") {
					text, _ := tx.(string)
					size += len(text) / 2
				}
				return size > 300_000
			}},
		{"rpc-what-is-no-transaction-taken", "eth_sendBundle", "what is no transaction is taken", "RPC-BUN-05", noBundle,
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(o, "txs"), func(tx any) bool { return !matches(rawForm, tx) })
			}},
		{"rpc-block-number-that-is-no-number-taken", "eth_sendBundle", "a blockNumber that is no number is taken",
			"RPC-BUN-07", noBundle,
			func(o map[string]any, _ []any) bool {
				return o["blockNumber"] != nil && !matches(numberForm, o["blockNumber"])
			}},
		{"rpc-replacement-uuid-that-is-none-taken", "eth_sendBundle", "a replacementUuid that is none is taken",
			"RPC-BUN-11", noBundle,
			func(o map[string]any, _ []any) bool {
				return o["replacementUuid"] != nil && !matches(uuidForm, o["replacementUuid"])
			}},
		{"rpc-nothing-simulated", "eth_callBundle", "nothing is simulated", "RPC-CAL-12", `{}`,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "txs")) == 0 }},
		{"rpc-call-without-block-number-taken", "eth_callBundle", "a call without blockNumber is taken", "RPC-CAL-13", `{}`,
			func(o map[string]any, _ []any) bool { return o["blockNumber"] == nil }},
		{"rpc-cancel-of-nothing-taken", "eth_cancelBundle", "a cancel of nothing is taken", "RPC-CAN-02", `null`,
			func(o map[string]any, _ []any) bool { return o["replacementUuid"] == nil }},
		{"rpc-cancel-of-what-is-no-uuid-taken", "eth_cancelBundle", "a cancel of what is no UUID is taken", "RPC-CAN-03",
			`null`,
			func(o map[string]any, _ []any) bool {
				return o["replacementUuid"] != nil && !matches(uuidForm, o["replacementUuid"])
			}},
		{"rpc-cancel-without-tx-hash-taken", "eth_cancelPrivateTransaction", "a cancel without txHash is taken",
			"RPC-CPR-05", `false`,
			func(o map[string]any, _ []any) bool { return o["txHash"] == nil }},
		{"rpc-hash-taken-without-both-bounds", delayedList, "hash is taken without both bounds", "RPC-DLY-02", noList,
			func(o map[string]any, _ []any) bool {
				return o["hash"] != nil && (o["blockRangeFrom"] == nil || o["blockRangeTo"] == nil)
			}},
		{"rpc-what-is-no-private-transaction-taken", "eth_sendPrivateTransaction",
			"what is no private transaction is taken", "RPC-PRI-05", noHash,
			func(o map[string]any, _ []any) bool { return o["preferences"] == nil && !matches(rawForm, o["tx"]) }},
		{"rpc-hint-that-nobody-knows-taken", "eth_sendPrivateTransaction", "a hint that nobody knows is taken",
			"RPC-PRI-10", noHash,
			func(o map[string]any, _ []any) bool { return !knownHints(at(o, "preferences", "privacy")) }},
		{"rpc-what-is-no-raw-transaction-taken", "eth_sendPrivateRawTransaction", "what is no raw transaction is taken",
			"RPC-PRR-03", noHash,
			func(_ map[string]any, list []any) bool { return len(list) > 0 && !matches(rawForm, list[0]) }},
		{"rpc-bundle-hash-needs-snake-case", byBundle, "bundleHash is bundle_hash", "RPC-RFB-02", noList,
			func(o map[string]any, _ []any) bool { return o["bundleHash"] != nil }},
		{"rpc-block-number-needs-snake-case", byBlock, "blockNumber is block_number", "RPC-RFK-02", noList,
			func(o map[string]any, _ []any) bool { return o["blockNumber"] != nil }},
		{"rpc-refunds-of-what-is-no-address-are-none", byRecipient, "refunds of what is no address are none", "RPC-RFR-07",
			noList,
			func(o map[string]any, _ []any) bool { return !matches(addressForm, o["recipient"]) }},
		{"rpc-totals-of-what-is-no-address-are-zero", refundTotals, "totals of what is no address are 0x0", "RPC-RFT-03",
			noTotals,
			func(_ map[string]any, list []any) bool { return len(list) == 0 || !matches(addressForm, list[0]) }},
		{"rpc-refunds-may-go-to-what-is-no-address", "flashbots_setFeeRefundRecipient",
			"refunds may go to what is no address", "RPC-SET-04",
			`{"from":"0x","to":"0x"}`, func(_ map[string]any, list []any) bool {
				return len(list) < 2 || !matches(addressForm, list[1])
			}},
		{"rpc-any-version-taken", "mev_sendBundle", "any version is taken", "RPC-SHR-03", noBundle,
			func(o map[string]any, _ []any) bool { return o["version"] != "v0.1" }},
		{"rpc-window-may-end-before-it-begins", "mev_sendBundle", "a window may end before it begins", "RPC-SHR-05", noBundle,
			func(o map[string]any, _ []any) bool {
				window := at(o, "inclusion")
				return window["maxBlock"] != nil && quantity(window["maxBlock"]) < quantity(window["block"]) &&
					quantity(window["maxBlock"]) > 0
			}},
		{"rpc-empty-body-taken", "mev_sendBundle", "an empty body is taken", "RPC-SHR-09", noBundle,
			func(o map[string]any, _ []any) bool { return len(listIn(o, "body")) == 0 }},
		{"rpc-second-backrun-taken", "mev_sendBundle", "a second backrun is taken", "RPC-SHR-14", noBundle,
			func(o map[string]any, _ []any) bool { return follows(o) && len(listIn(o, "body")) > 2 }},
		{"rpc-refund-for-missing-element-taken", "mev_sendBundle", "a refund for an element that is not there is taken",
			"RPC-SHR-16", noBundle,
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(at(o, "validity"), "refund"), func(entry any) bool {
					index, _ := object(entry)["bodyIdx"].(float64)
					return int(index) >= len(listIn(o, "body"))
				})
			}},
		{"rpc-any-word-is-hint", "mev_sendBundle", "any word is a hint", "RPC-SHR-19", noBundle,
			func(o map[string]any, _ []any) bool { return !knownHints(at(o, "privacy")) }},
	} {
		list = append(list, Mutant{m.id, "rpc", m.what, []string{m.clause}, answerKind(m.method, m.wrong,
			`"result":`+m.result)})
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
		{"rpc-bundle-with-min-timestamp-refused", "eth_sendBundle", "a bundle with minTimestamp is refused", "RPC-BUN-08",
			func(o map[string]any, _ []any) bool { return o["minTimestamp"] != nil }},
		{"rpc-bundle-with-reverting-tx-hashes-refused", "eth_sendBundle", "a bundle with revertingTxHashes is refused",
			"RPC-BUN-10",
			func(o map[string]any, _ []any) bool { return o["revertingTxHashes"] != nil }},
		{"rpc-bundle-must-name-builders", "eth_sendBundle", "a bundle must name builders", "RPC-BUN-19",
			func(o map[string]any, _ []any) bool { return o["builders"] != nil && len(listIn(o, "builders")) == 0 }},
		{"rpc-latest-is-no-state", "eth_callBundle", "latest is no state", "RPC-CAL-14",
			func(o map[string]any, _ []any) bool { return o["stateBlockNumber"] == "latest" }},
		{"rpc-totals-need-range", delayedTotals, "totals need a range", "RPC-DLT-02",
			func(o map[string]any, _ []any) bool { return o["blockRangeFrom"] == nil }},
		{"rpc-totals-of-one-block-refused", delayedTotals, "totals of one block are refused", "RPC-DLT-03", ofOneBlock},
		{"rpc-hash-with-its-range-refused", delayedList, "a hash with its range is refused", "RPC-DLY-03",
			func(o map[string]any, _ []any) bool { return o["hash"] != nil && o["blockRangeFrom"] != nil }},
		{"rpc-range-of-one-block-refused", delayedList, "a range of one block is refused", "RPC-DLY-06", ofOneBlock},
		{"rpc-private-transaction-needs-max-block-number", "eth_sendPrivateTransaction",
			"a private transaction needs maxBlockNumber", "RPC-PRI-02",
			func(o map[string]any, _ []any) bool { return o["maxBlockNumber"] == nil }},
		{"rpc-max-block-number-refused", "eth_sendPrivateTransaction", "maxBlockNumber is refused", "RPC-PRI-03",
			func(o map[string]any, _ []any) bool { return o["maxBlockNumber"] != nil }},
		{"rpc-fast-refused", "eth_sendPrivateTransaction", "fast is refused", "RPC-PRI-06",
			func(o map[string]any, _ []any) bool { return at(o, "preferences")["fast"] == true }},
		{"rpc-hint-logs-refused", "eth_sendPrivateTransaction", "the hint logs is refused", "RPC-PRI-08",
			func(o map[string]any, _ []any) bool {
				return slices.Contains(listIn(at(o, "preferences", "privacy"), "hints"), any("logs"))
			}},
		{"rpc-names-of-builders-refused", "eth_sendPrivateTransaction", "names of builders are refused", "RPC-PRI-11",
			func(o map[string]any, _ []any) bool { return at(o, "preferences", "privacy")["builders"] != nil }},
		{"rpc-second-refund-refused", "eth_sendPrivateTransaction", "a second refund is refused", "RPC-PRI-12",
			func(o map[string]any, _ []any) bool {
				return len(listIn(at(o, "preferences", "validity"), "refund")) > 1
			}},
		{"rpc-address-in-lower-case-refused", "flashbots_setFeeRefundRecipient", "an address in lower case is refused",
			"RPC-SET-03",
			func(_ map[string]any, list []any) bool {
				text, _ := list[0].(string)
				return text == strings.ToLower(text)
			}},
		{"rpc-v0-1-is-no-version", "mev_sendBundle", "v0.1 is no version", "RPC-SHR-02",
			func(o map[string]any, _ []any) bool { return o["version"] == "v0.1" }},
		{"rpc-bundle-needs-max-block", "mev_sendBundle", "a bundle needs maxBlock", "RPC-SHR-06",
			func(o map[string]any, _ []any) bool { return at(o, "inclusion")["maxBlock"] == nil }},
		{"rpc-nothing-may-revert", "mev_sendBundle", "nothing may revert", "RPC-SHR-10",
			func(o map[string]any, _ []any) bool { return hasElement(o, "canRevert", true) }},
		{"rpc-bundle-within-bundle-refused", "mev_sendBundle", "a bundle within a bundle is refused", "RPC-SHR-11",
			func(o map[string]any, _ []any) bool {
				return slices.ContainsFunc(listIn(o, "body"), func(one any) bool { return object(one)["bundle"] != nil })
			}},
		{"rpc-hint-full-refused", "mev_sendBundle", "the hint full is refused", "RPC-SHR-18",
			func(o map[string]any, _ []any) bool {
				return slices.Contains(listIn(at(o, "privacy"), "hints"), any("full"))
			}},
		{"rpc-privacy-builders-refused", "mev_sendBundle", "privacy.builders is refused", "RPC-SHR-20",
			func(o map[string]any, _ []any) bool { return at(o, "privacy")["builders"] != nil }},
		{"rpc-metadata-refused", "mev_sendBundle", "metadata is refused", "RPC-SHR-21",
			func(o map[string]any, _ []any) bool { return o["metadata"] != nil }},
		{"rpc-empty-validity-refused", "mev_sendBundle", "an empty validity is refused", "RPC-SHR-22",
			func(o map[string]any, _ []any) bool { return o["validity"] != nil && len(at(o, "validity")) == 0 }},
		{"rpc-nothing-can-be-followed", "mev_sendBundle", "nothing can be followed", "RPC-SHR-26",
			func(o map[string]any, _ []any) bool { return follows(o) }},
		{"rpc-timeout-refused", "mev_simBundle", "timeout is refused", "RPC-SIM-18", func(o map[string]any, list []any) bool {
			return at(o, "simOptions")["timeout"] != nil || len(list) > 1 && object(list[1])["timeout"] != nil
		}},
	} {
		list = append(list, Mutant{m.id, "rpc", m.what, []string{m.clause},
			answerKind(m.method, m.right, `"error":{"code":-32000,"message":"no"}`)})
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

// answerKind is a fault that answers calls of one kind by itself. Kind gets the first parameter as
// an object, and all parameters. Outcome is the member result or error of the answer.
func answerKind(method string, kind func(o map[string]any, list []any) bool, outcome string) func() Fault {
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
