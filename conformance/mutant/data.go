package mutant

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	dataPath         = "/relay/v1/data/"
	deliveredPath    = "/relay/v1/data/bidtraces/proposer_payload_delivered"
	receivedPath     = "/relay/v1/data/bidtraces/builder_blocks_received"
	registrationPath = "/relay/v1/data/validator_registration"
)

// dropParams is a fault that removes parameters from the query.
func dropParams(path string, names ...string) func() Fault {
	return asks(path, func(e *Exchange) bool {
		query := e.Request.URL.Query()
		for _, name := range names {
			query.Del(name)
		}
		e.Request.URL.RawQuery = query.Encode()
		return false
	})
}

// traces is a fault that changes each trace of a list.
func traces(path string, change func(trace map[string]any)) func() Fault {
	return document(path, func(d any) any {
		list, _ := d.([]any)
		for i := range list {
			change(object(list[i]))
		}
		return d
	})
}

// dataMutants returns the mutants that are put before the data interface of a relay.
func dataMutants() []Mutant {
	return []Mutant{
		{"relay-no-delivery-is-ever-listed", "relay", "no delivery is ever listed", []string{"REL-DAT-01"},
			document(deliveredPath, func(any) any {
				return []any{}
			})},
		{"relay-what-was-bid-listed-as-delivered", "relay", "what was bid is listed as delivered", []string{"REL-DAT-02"},
			asks(deliveredPath, func(e *Exchange) bool {
				if e.Request.URL.Query().Get("block_hash") != "" {
					e.Request.URL.Path = receivedPath
				}
				return false
			})},
		{"relay-slot-ignored-for-deliveries", "relay", "slot is ignored for deliveries", []string{"REL-DAT-03"},
			dropParams(deliveredPath, "slot")},
		{"relay-block-hash-ignored-for-deliveries", "relay", "block_hash is ignored for deliveries", []string{"REL-DAT-04"},
			dropParams(deliveredPath, "block_hash")},
		{"relay-block-number-ignored-for-deliveries", "relay", "block_number is ignored for deliveries",
			[]string{"REL-DAT-05"},
			dropParams(deliveredPath, "block_number")},
		{"relay-keys-ignored-for-deliveries", "relay", "keys are ignored for deliveries", []string{"REL-DAT-06"},
			dropParams(deliveredPath, "proposer_pubkey",
				"builder_pubkey")},
		{"relay-limit-ignored", "relay", "limit is ignored", []string{"REL-DAT-07", "REL-DAT-12"}, dropParams(deliveredPath,
			"limit")},
		{"relay-cursor-ignored", "relay", "cursor is ignored", []string{"REL-DAT-08", "REL-DAT-09"}, dropParams(deliveredPath,
			"cursor")},
		{"relay-order-by-ignored", "relay", "order_by is ignored", []string{"REL-DAT-21", "REL-DAT-22"},
			dropParams(deliveredPath, "order_by")},
		{"relay-wrong-queries-answered-with-empty-list", "relay", "wrong queries are answered with []", []string{
			"REL-DAT-09", "REL-DAT-10", "REL-DAT-11", "REL-DAT-12", "REL-DAT-16", "REL-DAT-19", "REL-DAT-22", "REL-DAT-18",
		}, blanket(answers(dataPath, func(e *Exchange) {
			if e.Status >= 400 {
				e.say(http.StatusOK, jsonType, "[]")
			}
		}))},
		{"relay-no-received-block-listed", "relay", "no received block is listed", []string{"REL-DAT-13"},
			document(receivedPath, func(any) any {
				return []any{}
			})},
		{"relay-refused-blocks-listed-as-received", "relay", "refused blocks are listed as received",
			[]string{"REL-DAT-14"}, func() Fault {
				var refused []any
				return Fault{Answer: func(e *Exchange) {
					switch {
					case e.on(submitPath) && e.Status == http.StatusBadRequest:
						var s any
						if json.Unmarshal(e.Asked, &s) == nil {
							refused = append(refused, at(s, "message"))
						}
					case e.on(receivedPath) && e.Status == http.StatusOK:
						e.edit(func(d any) any {
							list, _ := d.([]any)
							return append(list, refused...)
						})
					}
				}}
			}},
		{"relay-blocks-are-said-to-have-come-five-seconds-later", "relay",
			"blocks are said to have come five seconds later", []string{"REL-DAT-15"},
			traces(receivedPath, func(trace map[string]any) {
				if ms, is := trace["timestamp_ms"].(string); is && len(ms) > 4 {
					trace["timestamp_ms"] = "9" + ms[1:]
				}
			})},
		{"relay-registrations-have-another-signature", "relay", "registrations have another signature",
			[]string{"REL-DAT-17"},
			document(registrationPath, func(d any) any {
				object(d)["signature"] = flip(object(d)["signature"])
				return d
			})},
		{"relay-numbers-in-traces-are-numbers", "relay", "numbers in traces are numbers", []string{"REL-DAT-20"},
			traces(deliveredPath, func(trace map[string]any) {
				trace["gas_limit"] = 60000000
			})},
		{"relay-traces-have-other-values", "relay", "traces have other values", []string{"REL-DAT-26"},
			traces(deliveredPath, func(trace map[string]any) { trace["value"] = "1" })},
		{"relay-traces-lack-num-tx", "relay", "traces lack num_tx", []string{"REL-DAT-24"}, traces(deliveredPath,
			func(trace map[string]any) {
				delete(trace, "num_tx")
			})},
		{"relay-empty-list-is-null", "relay", "an empty list is null", []string{"REL-DAT-23"}, document(deliveredPath,
			func(d any) any {
				if list, is := d.([]any); is && len(list) == 0 {
					return nil
				}
				return d
			})},
		{"relay-lists-reversed", "relay", "lists stand on their heads", []string{"REL-DAT-08", "REL-DAT-21"},
			document(deliveredPath, func(d any) any {
				list, _ := d.([]any)
				slices.Reverse(list)
				return list
			})},
		{"relay-strangers-registration-made-up", "relay", "a stranger's registration is made up", []string{"REL-DAT-18"},
			answers(registrationPath, func(e *Exchange) {
				if e.Status >= 400 && e.Request.URL.Query().Get("pubkey") != "" {
					e.say(http.StatusOK, jsonType, `{"message":{},"signature":"0x"}`)
				}
			})},
		{"relay-data-api-asks-for-key", "relay", "the data API asks for a key", []string{"REL-DAT-25"}, asks(dataPath,
			func(e *Exchange) bool {
				return e.say(http.StatusForbidden, jsonType, "{}")
			})},
		{"relay-block-hashes-compared-as-text", "relay", "block hashes are compared as text", []string{"REL-DAT-11"},
			asks(deliveredPath, func(e *Exchange) bool {
				hash, err := url.QueryUnescape(e.Request.URL.Query().Get("block_hash"))
				return err == nil && hash != "" && len(hash) != 66 && strings.HasPrefix(hash, "0x") &&
					e.say(http.StatusOK, jsonType, "[]")
			})},
	}
}
