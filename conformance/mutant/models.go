package mutant

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// modelMutants returns mutants that only plans of models notice: each is right wherever a spec of
// a single clause looks.
func modelMutants() []Mutant {
	return []Mutant{
		{"relay-delivered-thousands-of-wei", "relay", "values of deliveries end with three zeros", []string{"REL-MOD-01"},
			traces(deliveredPath, func(trace map[string]any) {
				if value, is := trace["value"].(string); is && len(value) > 3 {
					trace["value"] = value[:len(value)-3] + "000"
				}
			})},
		{"relay-delivered-filters-in-threes", "relay", "proposer_pubkey is ignored beside builder_pubkey and order_by",
			[]string{"REL-MOD-01"}, thirdFilter(deliveredPath, "builder_pubkey", "order_by", "proposer_pubkey")},
		{"relay-delivered-one-transaction", "relay", "num_tx is 1, whatever the block", []string{"REL-MOD-02"},
			traces(deliveredPath, func(trace map[string]any) { trace["num_tx"] = "1" })},
		{"relay-delivered-cursor-of-a-limited-list", "relay", "a cursor beside a limit is not listed itself",
			[]string{"REL-MOD-02"}, asks(deliveredPath, func(e *Exchange) bool {
				query := e.Request.URL.Query()
				if last, err := strconv.ParseUint(query.Get("cursor"), 10, 64); err == nil && last > 0 && query.Has("limit") {
					query.Set("cursor", strconv.FormatUint(last-1, 10))
					e.Request.URL.RawQuery = query.Encode()
				}
				return false
			})},
		{"relay-refused-builder-is-not-served", "relay", "the bids of a builder of whom a block was refused are not served",
			[]string{"REL-MOD-03"}, silentAfterRefusal},
		{"relay-one-builder-cancels", "relay", "only the first builder of a slot may cancel",
			[]string{"REL-MOD-04"}, firstCancels},
		{"relay-last-of-a-request", "relay", "of several registrations of a validator in one request the last counts",
			[]string{"REL-MOD-05"}, lastOfRequest},
		{"relay-accept-without-application", "relay", "application/* in Accept is not read", []string{"REL-MOD-06"},
			asks(headerPath, func(e *Exchange) bool {
				ranges := strings.Split(e.Request.Header.Get("Accept"), ",")
				if len(ranges) > 1 {
					e.Request.Header.Set("Accept", strings.Join(slices.DeleteFunc(ranges, func(one string) bool {
						return strings.Contains(one, "application/*")
					}), ","))
				}
				return false
			})},
		{"rpc-fees-in-whole-gwei", "rpc", "gasFees of a transaction are whole gwei", []string{"RPC-MOD-01"},
			member("eth_callBundle", "results", func(v any) any {
				list, _ := v.([]any)
				for _, one := range list {
					if fees, is := object(one)["gasFees"].(string); is && len(fees) > 9 {
						object(one)["gasFees"] = fees[:len(fees)-9] + "000000000"
					}
				}
				return v
			})},
	}
}

// thirdFilter is a fault that removes the last of three parameters from queries that have them
// all, unless they ask for one block.
func thirdFilter(path, one, other, third string) func() Fault {
	return asks(path, func(e *Exchange) bool {
		query := e.Request.URL.Query()
		if query.Has(one) && query.Has(other) && query.Has(third) && !query.Has("block_hash") {
			query.Del(third)
			e.Request.URL.RawQuery = query.Encode()
		}
		return false
	})
}

// bidOf is what faults read of a submission in JSON.
type bidOf struct {
	Message struct {
		Slot    string `json:"slot"`
		Hash    string `json:"block_hash"`
		Builder string `json:"builder_pubkey"`
	} `json:"message"`
}

// silentAfterRefusal answers 204 in place of bids of builders of whom a block was refused.
func silentAfterRefusal() Fault {
	builders, refused := map[string]string{}, map[string]bool{}
	return Fault{Answer: func(e *Exchange) {
		var bid bidOf
		switch {
		case e.on(submitPath) && json.Unmarshal(e.Asked, &bid) == nil:
			if builders[bid.Message.Hash] = bid.Message.Builder; e.Status == http.StatusBadRequest {
				refused[bid.Message.Builder] = true
			}
		case e.on(headerPath) && e.Status == http.StatusOK && strings.HasPrefix(e.Header.Get("Content-Type"), jsonType):
			var document any
			if json.Unmarshal(e.Body, &document) != nil {
				return
			}
			if hash, _ := at(document, "data", "message", "header")["block_hash"].(string); refused[builders[hash]] {
				e.say(http.StatusNoContent, "", "")
			}
		}
	}}
}

// firstCancels takes cancellations away from all builders of a slot but the first who has them.
func firstCancels() Fault {
	first := map[string]string{}
	return Fault{Ask: func(e *Exchange) bool {
		var bid bidOf
		query := e.Request.URL.Query()
		if !e.on(submitPath) || !query.Has("cancellations") || json.Unmarshal(e.Asked, &bid) != nil {
			return false
		}
		if first[bid.Message.Slot] == "" {
			first[bid.Message.Slot] = bid.Message.Builder
		}
		if first[bid.Message.Slot] != bid.Message.Builder {
			e.Request.URL.RawQuery = url.Values{}.Encode()
		}
		return false
	}}
}

// lastOfRequest hands on the last registration alone of each validator in a request.
func lastOfRequest() Fault {
	return Fault{Ask: func(e *Exchange) bool {
		var list, kept []any
		if !e.on(registerPath) || json.Unmarshal(e.Asked, &list) != nil {
			return false
		}
		for i, one := range list {
			pubkey := at(one, "message")["pubkey"]
			if !slices.ContainsFunc(list[i+1:], func(later any) bool { return at(later, "message")["pubkey"] == pubkey }) {
				kept = append(kept, one)
			}
		}
		if raw, err := json.Marshal(kept); err == nil && len(kept) < len(list) {
			e.Asked = raw
		}
		return false
	}}
}
