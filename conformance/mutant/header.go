package mutant

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// headerMutants returns the mutants of getHeader.
func headerMutants() []Mutant {
	return []Mutant{
		{"relay-bids-have-signature-of-another-message", "relay", "bids have the signature of another message",
			[]string{"REL-HDR-01"}, bid(func(m map[string]any) {
				m["value"] = "7"
			})},
		{"relay-bids-name-another-fork", "relay", "bids name another fork", []string{"REL-HDR-02"}, document(headerPath,
			func(d any) any {
				object(d)["version"] = "deneb"
				return d
			})},
		{"relay-bids-lack-eth-consensus-version", "relay", "bids lack Eth-Consensus-Version", []string{"REL-HDR-29",
			"REL-HDR-09"},
			answers(headerPath, func(e *Exchange) { e.Header.Del("Eth-Consensus-Version") })},
		{"relay-no-bid-is-200-with-null", "relay", "no bid is 200 with null", []string{"REL-HDR-03"}, answers(headerPath,
			func(e *Exchange) {
				if e.Status == 204 {
					e.say(200, jsonType, "null")
				}
			})},
		{"relay-malformed-header-requests-answered-with-204", "relay",
			"malformed header requests have no bid in place of a refusal",
			[]string{"REL-HDR-04", "REL-HDR-05", "REL-HDR-06", "REL-GEN-09"}, blanket(answers(headerPath, func(e *Exchange) {
				if e.Status == 400 {
					e.say(204, "", "")
				}
			}))},
		{"relay-any-header-request-gets-last-bid", "relay", "any header request gets the last bid", []string{"REL-HDR-07",
			"REL-HDR-08"}, func() Fault {
			var last []byte
			return Fault{Answer: func(e *Exchange) {
				switch {
				case !e.on(headerPath):
				case e.Status == 200:
					last = e.Body
				case last != nil:
					e.say(200, jsonType, string(last))
				}
			}}
		}},
		{"relay-accept-ignored-bids-are-json", "relay", "Accept is ignored: bids are JSON", []string{"REL-HDR-09",
			"REL-HDR-10", "REL-HDR-11", "REL-HDR-18"},
			asks(headerPath, func(e *Exchange) bool {
				e.Request.Header.Set("Accept", jsonType)
				return false
			})},
		{"relay-bids-are-ssz-unless-json-named", "relay", "bids are SSZ unless JSON is named", []string{"REL-HDR-23"},
			asks(headerPath, func(e *Exchange) bool {
				if !strings.Contains(e.Request.Header.Get("Accept"), "json") {
					e.Request.Header.Set("Accept", "application/octet-stream")
				}
				return false
			})},
		{"relay-bids-lack-commitments", "relay", "bids lack commitments", []string{"REL-HDR-12"}, bid(func(m map[string]any) {
			m["blob_kzg_commitments"] = []any{}
		})},
		{"relay-bids-have-other-execution-requests", "relay", "bids have other execution requests", []string{"REL-HDR-13"},
			bid(func(m map[string]any) {
				if requests := at(m, "execution_requests"); requests != nil {
					requests["withdrawals"] = []any{map[string]any{
						"source_address": "0x" + strings.Repeat("00", 20), "validator_pubkey": "0x" + strings.Repeat("00", 48),
						"amount": "1",
					}}
				}
			})},
		{"relay-bids-say-less-than-was-signed", "relay", "bids say less than was signed", []string{"REL-HDR-14"},
			bid(func(m map[string]any) {
				m["value"] = "1"
			})},
		{"relay-headers-have-another-state-root", "relay", "headers have another state root", []string{"REL-HDR-15"},
			bid(func(m map[string]any) {
				at(m, "header")["state_root"] = flip(at(m, "header")["state_root"])
			})},
		{"relay-first-bid-of-slot-served-for-ever", "relay", "the first bid of a slot is served for ever",
			[]string{"REL-HDR-16", "REL-SUB-31"}, sticky},
		{"relay-builders-first-bid-is-its-only-one", "relay", "a builder's first bid is its only one",
			[]string{"REL-SUB-23"}, serveFirstOfEach},
		{"relay-last-block-wins-whatever-its-value", "relay", "the last block wins, whatever its value",
			[]string{"REL-HDR-16", "REL-HDR-17", "REL-SUB-31"},
			serveLast},
		{"relay-hexadecimal-in-capitals-finds-nothing", "relay", "hexadecimal in capitals finds nothing",
			[]string{"REL-HDR-19"},
			asks(headerPath, func(e *Exchange) bool {
				return strings.ToLower(e.Request.URL.Path) != e.Request.URL.Path && e.say(204, "", "")
			})},
		{"relay-headers-come-half-second-late", "relay", "headers come half a second late", []string{"REL-HDR-21"},
			answers(headerPath, func(*Exchange) {
				time.Sleep(500 * time.Millisecond)
			})},
		{"relay-past-slots-and-strangers-get-bid", "relay", "past slots and strangers get a bid", []string{"REL-HDR-20",
			"REL-HDR-24"},
			blanket(status(headerPath, 204, 400, 200))},
		{"relay-values-are-numbers", "relay", "values are numbers", []string{"REL-HDR-25"}, answers(headerPath,
			func(e *Exchange) {
				e.Body = bytes.Replace(e.Body, []byte(`"gas_limit":"60000000"`), []byte(`"gas_limit":60000000`), 1)
			})},
		{"relay-never-bid", "relay", "there is never a bid", []string{"REL-SUB-01", "REL-SUB-02", "REL-SUB-03"},
			blanket(status(headerPath, 200, 200, 204))},
		{"relay-bid-served-for-ever", "relay", "a bid is served for ever", []string{"REL-HDR-22"}, func() Fault {
			known := map[string][]byte{}
			return Fault{Answer: func(e *Exchange) {
				switch path := e.Request.URL.Path; {
				case !e.on(headerPath):
				case e.Status == http.StatusOK:
					known[path] = e.Body
				case known[path] != nil:
					e.say(200, jsonType, string(known[path]))
				}
			}}
		}},
	}
}

// sticky serves, whatever comes later, the first block of a slot that the relay accepted.
func sticky() Fault {
	first := map[string][]byte{}
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath) && e.Status < 300:
			if slot, _, _ := submitted(e.Asked); first[slot] == nil {
				first[slot] = e.Asked
			}
		case e.on(headerPath) && e.Status == http.StatusOK:
			slot, _, _ := strings.Cut(strings.TrimPrefix(e.Request.URL.Path, headerPath), "/")
			if known := first[slot]; known != nil {
				e.edit(func(d any) any { return replaceBid(d, known) })
			}
		}
	}}
}

// serveLast serves the last block that the relay accepted, whatever it pays.
func serveLast() Fault {
	var last []byte
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath) && e.Status < 300:
			last = e.Asked
		case e.on(headerPath) && e.Status == http.StatusOK && last != nil:
			e.edit(func(d any) any { return replaceBid(d, last) })
		}
	}}
}
