package mutant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const (
	byRecipient   = "flashbots_getFeeRefundsByRecipient"
	byBundle      = "flashbots_getFeeRefundsByBundle"
	byBlock       = "flashbots_getFeeRefundsByBlock"
	refundTotals  = "flashbots_getFeeRefundTotalsByRecipient"
	delayedList   = "buildernet_getDelayedRefunds"
	delayedTotals = "buildernet_getDelayedRefundTotalsByRecipient"
	userStats     = "flashbots_getUserStatsV2"
)

// refundListMutants returns the mutants whose lists and totals of refunds have the right form and
// the wrong refunds.
func refundListMutants() []Mutant {
	none := constant([]any{})
	// another adds a record to a list that is not empty: a copy of the first one with a changed
	// member.
	another := func(method, name string) func() Fault {
		return member(method, "refunds", func(v any) any {
			list, _ := v.([]any)
			if len(list) == 0 {
				return v
			}
			extra := map[string]any{}
			for member, value := range object(list[0]) {
				extra[member] = value
			}
			extra[name] = flip(extra[name])
			return append(list, extra)
		})
	}
	without := func(method, name string) func() Fault {
		return result(method, func(r any) any {
			delete(object(r), name)
			return r
		})
	}
	return []Mutant{
		{"rpc-received-of-totals-stays-zero", "rpc", "received of the totals stays 0x0", []string{"RPC-RFT-04"},
			member(refundTotals, "received", constant("0x0"))},
		{"rpc-what-received-counts-as-pending", "rpc", "what is received counts as pending", []string{"RPC-RFT-04"},
			result(refundTotals, func(r any) any {
				if o := object(r); o != nil {
					o["pending"], o["received"] = o["received"], o["pending"]
				}
				return r
			})},
		{"rpc-max-block-number-stays-zero", "rpc", "maxBlockNumber stays 0x0", []string{"RPC-RFT-04"},
			member(refundTotals, "maxBlockNumber", constant("0x0"))},
		{"rpc-order-has-no-refunds", "rpc", "an order has no refunds", []string{"RPC-RFB-04"}, member(byBundle, "refunds",
			none)},
		{"rpc-order-has-refund-of-another-one-too", "rpc", "an order has the refund of another one too",
			[]string{"RPC-RFB-04"}, another(byBundle, "hash")},
		{"rpc-block-has-no-refunds", "rpc", "a block has no refunds", []string{"RPC-RFK-03"}, member(byBlock, "refunds",
			none)},
		{"rpc-block-has-refund-of-another-one-too", "rpc", "a block has a refund of another one too",
			[]string{"RPC-RFK-03"}, another(byBlock, "blockNumber")},
		{"rpc-first-page-is-last", "rpc", "the first page is the last", []string{"RPC-RFR-09"}, without(byRecipient,
			"cursor")},
		{"rpc-every-page-is-first", "rpc", "every page is the first", []string{"RPC-RFR-09"}, dropped(byRecipient, "cursor")},
		{"rpc-last-page-has-cursor", "rpc", "the last page has a cursor", []string{"RPC-RFR-09"}, result(byRecipient,
			func(r any) any {
				if list, _ := object(r)["refunds"].([]any); len(list) > 0 && object(r)["cursor"] == nil {
					object(r)["cursor"] = "more"
				}
				return r
			})},
		{"rpc-cursor-as-second-parameter-ignored", "rpc", "a cursor as the second parameter is ignored",
			[]string{"RPC-RFR-10"},
			params(byRecipient, func(list []any) []any { return list[:min(len(list), 1)] })},
		{"rpc-new-recipient-of-refunds-answered-and-forgotten", "rpc",
			"a new recipient of refunds is answered and forgotten", []string{"RPC-SET-05"},
			asks("/", func(e *Exchange) bool {
				var call struct {
					Params []string `json:"params"`
				}
				return e.Method == "flashbots_setFeeRefundRecipient" && json.Unmarshal(e.Asked, &call) == nil &&
					len(call.Params) == 2 && e.say(http.StatusOK, jsonType,
					fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"from":"%s","to":"%s"}}`, strings.ToLower(call.Params[0]),
						strings.ToLower(call.Params[1])))
			})},

		{"rpc-nothing-delayed", "rpc", "nothing is delayed", []string{"RPC-DLY-07", "RPC-DLY-08"}, member(delayedList,
			"refunds", none)},
		{"rpc-delayed-refunds-have-hash-of-transaction", "rpc", "delayed refunds have the hash of a transaction",
			[]string{"RPC-DLY-07"},
			member(delayedList, "refunds", func(v any) any {
				list, _ := v.([]any)
				for _, r := range list {
					object(r)["hash"] = flip(object(r)["hash"])
				}
				return v
			})},
		{"rpc-hash-of-delayed-refunds-ignored", "rpc", "hash of delayed refunds is ignored", []string{"RPC-DLY-07"},
			dropped(delayedList, "hash")},
		{"rpc-indexed-up-to-stays-zero", "rpc", "indexedUpTo stays 0x0", []string{"RPC-DLY-07"},
			member(delayedList, "indexedUpTo", constant("0x0"))},
		{"rpc-range-lacks-its-first-block", "rpc", "a range lacks its first block", []string{"RPC-DLY-08"},
			moveRange(delayedList, 1, 0)},
		{"rpc-range-lacks-its-last-block", "rpc", "a range lacks its last block", []string{"RPC-DLY-08"},
			moveRange(delayedList, 0, -1)},
		{"rpc-ranges-of-delayed-refunds-ignored", "rpc", "ranges of delayed refunds are ignored", []string{"RPC-DLY-08"},
			params(delayedList, unranged)},
		{"rpc-first-page-of-delayed-refunds-is-last", "rpc", "the first page of delayed refunds is the last",
			[]string{"RPC-DLY-09"},
			without(delayedList, "nextCursor")},
		{"rpc-every-page-of-delayed-refunds-is-first", "rpc", "every page of delayed refunds is the first",
			[]string{"RPC-DLY-09"}, dropped(delayedList, "cursor")},
		{"rpc-who-had-no-delayed-refunds-has-none-later", "rpc", "who had no delayed refunds has none later",
			[]string{"RPC-DLY-10"}, func() Fault {
				empty := map[any]bool{} // recipients
				return Fault{Answer: func(e *Exchange) {
					if e.Method != delayedList {
						return
					}
					who := e.param()["recipient"]
					e.edit(func(d any) any {
						page := at(d, "result")
						if list, _ := page["refunds"].([]any); page != nil && (len(list) == 0 || empty[who]) {
							empty[who], page["refunds"] = true, []any{}
						}
						return d
					})
				}}
			}},
		{"rpc-totals-of-delayed-refunds-stay-zero", "rpc", "totals of delayed refunds stay 0x0", []string{"RPC-DLT-04"},
			member(delayedTotals, "pending", constant("0x0"))},
		{"rpc-totals-of-range-lack-its-first-block", "rpc", "totals of a range lack its first block",
			[]string{"RPC-DLT-04"}, moveRange(delayedTotals, 1, 0)},
		{"rpc-totals-of-range-lack-its-last-block", "rpc", "totals of a range lack its last block", []string{"RPC-DLT-04"},
			moveRange(delayedTotals, 0, -1)},
		{"rpc-totals-are-of-all-blocks-whatever-range", "rpc", "totals are of all blocks, whatever the range",
			[]string{"RPC-DLT-04"},
			params(delayedTotals, unranged)},

		{"rpc-statistics-stay-0", "rpc", "statistics stay 0", []string{"RPC-AUT-20"},
			member(userStats, "allTimeValidatorPayments", constant("0"))},
		{"rpc-everybody-has-same-statistics", "rpc", "everybody has the same statistics", []string{"RPC-AUT-20"},
			result(userStats, func(r any) any {
				if o := object(r); o != nil {
					o["allTimeValidatorPayments"], o["allTimeGasSimulated"] = "1", "1"
				}
				return r
			})},
	}
}

// param returns the first parameter of a JSON-RPC request as an object; nil if it is none.
func (e *Exchange) param() map[string]any {
	var call struct {
		Params []any `json:"params"`
	}
	if json.Unmarshal(e.Asked, &call) != nil || len(call.Params) == 0 {
		return nil
	}
	return object(call.Params[0])
}

// moveRange is a fault that moves the bounds of a range of blocks. If no block is left in it, it is
// one far away.
func moveRange(method string, from, to int64) func() Fault {
	return changeFirstParam(method, func(o map[string]any) {
		if o["blockRangeFrom"] == nil || o["blockRangeTo"] == nil {
			return
		}
		first, last := quantity(o["blockRangeFrom"])+from, quantity(o["blockRangeTo"])+to
		if last < first {
			first, last = 1<<40, 1<<40
		}
		o["blockRangeFrom"], o["blockRangeTo"] = fmt.Sprintf("%#x", first), fmt.Sprintf("%#x", last)
	})
}

func unranged(list []any) []any {
	if len(list) > 0 && object(list[0]) != nil {
		delete(object(list[0]), "blockRangeFrom")
		delete(object(list[0]), "blockRangeTo")
		delete(object(list[0]), "hash") // needs a range
	}
	return list
}
