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
		{"L21", "relay", "bids have the signature of another message", []string{"REL-HDR-01"}, bid(func(m map[string]any) {
			m["value"] = "7"
		})},
		{"L22", "relay", "bids name another fork", []string{"REL-HDR-02"}, document(headerPath, func(d any) any {
			object(d)["version"] = "deneb"
			return d
		})},
		{"L23", "relay", "bids lack Eth-Consensus-Version", []string{"REL-HDR-29", "REL-HDR-09"},
			answers(headerPath, func(e *Exchange) { e.Header.Del("Eth-Consensus-Version") })},
		{"L24", "relay", "no bid is 200 with null", []string{"REL-HDR-03"}, answers(headerPath, func(e *Exchange) {
			if e.Status == 204 {
				e.say(200, jsonType, "null")
			}
		})},
		{"L25", "relay", "malformed header requests have no bid in place of a refusal",
			[]string{"REL-HDR-04", "REL-HDR-05", "REL-HDR-06", "REL-GEN-09"}, blanket(answers(headerPath, func(e *Exchange) {
				if e.Status == 400 {
					e.say(204, "", "")
				}
			}))},
		{"L26", "relay", "any header request gets the last bid", []string{"REL-HDR-07", "REL-HDR-08"}, func() Fault {
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
		{"L27", "relay", "Accept is ignored: bids are JSON", []string{"REL-HDR-09", "REL-HDR-10", "REL-HDR-11", "REL-HDR-18"},
			asks(headerPath, func(e *Exchange) bool {
				e.Request.Header.Set("Accept", jsonType)
				return false
			})},
		{"L28", "relay", "bids are SSZ unless JSON is named", []string{"REL-HDR-23"},
			asks(headerPath, func(e *Exchange) bool {
				if !strings.Contains(e.Request.Header.Get("Accept"), "json") {
					e.Request.Header.Set("Accept", "application/octet-stream")
				}
				return false
			})},
		{"L29", "relay", "bids lack commitments", []string{"REL-HDR-12"}, bid(func(m map[string]any) {
			m["blob_kzg_commitments"] = []any{}
		})},
		{"L30", "relay", "bids have other execution requests", []string{"REL-HDR-13"}, bid(func(m map[string]any) {
			if requests := at(m, "execution_requests"); requests != nil {
				requests["withdrawals"] = []any{map[string]any{
					"source_address": "0x" + strings.Repeat("00", 20), "validator_pubkey": "0x" + strings.Repeat("00", 48),
					"amount": "1",
				}}
			}
		})},
		{"L31", "relay", "bids say less than was signed", []string{"REL-HDR-14"}, bid(func(m map[string]any) {
			m["value"] = "1"
		})},
		{"L32", "relay", "headers have another state root", []string{"REL-HDR-15"}, bid(func(m map[string]any) {
			at(m, "header")["state_root"] = flip(at(m, "header")["state_root"])
		})},
		{"L33", "relay", "the first bid of a slot is served for ever", []string{"REL-HDR-16", "REL-SUB-31"}, sticky},
		{"L40", "relay", "a builder's first bid is its only one", []string{"REL-SUB-23"}, firstOfEach},
		{"L34", "relay", "the last block wins, whatever its value", []string{"REL-HDR-16", "REL-HDR-17", "REL-SUB-31"},
			lastWins},
		{"L35", "relay", "hexadecimal in capitals finds nothing", []string{"REL-HDR-19"},
			asks(headerPath, func(e *Exchange) bool {
				return strings.ToLower(e.Request.URL.Path) != e.Request.URL.Path && e.say(204, "", "")
			})},
		{"L36", "relay", "headers come half a second late", []string{"REL-HDR-21"}, answers(headerPath, func(*Exchange) {
			time.Sleep(500 * time.Millisecond)
		})},
		{"L37", "relay", "past slots and strangers get a bid", []string{"REL-HDR-20", "REL-HDR-24"},
			blanket(status(headerPath, 204, 400, 200))},
		{"L38", "relay", "values are numbers", []string{"REL-HDR-25"}, answers(headerPath, func(e *Exchange) {
			e.Body = bytes.Replace(e.Body, []byte(`"gas_limit":"60000000"`), []byte(`"gas_limit":60000000`), 1)
		})},
		{"L39", "relay", "there is never a bid", []string{"REL-SUB-01", "REL-SUB-02", "REL-SUB-03"},
			blanket(status(headerPath, 200, 200, 204))},
		{"L74", "relay", "a bid is served for ever", []string{"REL-HDR-22"}, func() Fault {
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
				e.edit(func(d any) any { return replaced(d, known) })
			}
		}
	}}
}

// lastWins serves the last block that the relay accepted, whatever it pays.
func lastWins() Fault {
	var last []byte
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath) && e.Status < 300:
			last = e.Asked
		case e.on(headerPath) && e.Status == http.StatusOK && last != nil:
			e.edit(func(d any) any { return replaced(d, last) })
		}
	}}
}
