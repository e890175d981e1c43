package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/world"
)

const (
	statusPath   = "/eth/v1/builder/status"
	registerPath = "/eth/v1/builder/validators"
	headerPath   = "/eth/v1/builder/header/"
	payloadPath  = "/eth/v1/builder/blinded_blocks"
	payloadV2    = "/eth/v2/builder/blinded_blocks"
	dutiesPath   = "/relay/v1/builder/validators"
	submitPath   = "/relay/v1/builder/blocks"
)

// answers is a fault that changes answers at a path.
func answers(path string, change func(e *Exchange)) func() Fault {
	return func() Fault {
		return Fault{Answer: func(e *Exchange) {
			if e.on(path) {
				change(e)
			}
		}}
	}
}

// asks is a fault that changes requests at a path, or answers them in place of the target.
func asks(path string, change func(e *Exchange) bool) func() Fault {
	return func() Fault {
		return Fault{Ask: func(e *Exchange) bool { return e.on(path) && change(e) }}
	}
}

// status is a fault that changes statuses from first to last into another one, and empties the
// body.
func status(path string, first, last, to int) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status >= first && e.Status <= last {
			e.say(to, jsonType, "")
		}
	})
}

// document is a fault that changes the JSON of answers with status 200.
func document(path string, change func(document any) any) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status == http.StatusOK {
			e.edit(change)
		}
	})
}

// bid is a fault that changes the message of bids that getHeader serves.
func bid(change func(message map[string]any)) func() Fault {
	return document(headerPath, func(d any) any {
		if message := at(d, "data", "message"); message != nil {
			change(message)
		}
		return d
	})
}

// relayMutants returns the mutants that are put before the proposer and builder interfaces of a
// relay.
func relayMutants() []Mutant {
	return []Mutant{
		{"L01", "relay", "status is always 503", []string{"REL-STA-01"}, status(statusPath, 200, 299, 503)},
		{"L02", "relay", "status has a body", []string{"REL-STA-02"}, answers(statusPath, func(e *Exchange) {
			e.Body = []byte("ready to serve")
		})},
		{"L03", "relay", "all methods are one", []string{"REL-STA-03"}, status("/", 405, 405, 200)},
		{"L04", "relay", "unknown paths are answered with 200", []string{"REL-GEN-03", "REL-GEN-01"},
			status("/", 404, 404, 200)},
		{"L05", "relay", "refusals are plain text", []string{"REL-GEN-02"}, answers("/", func(e *Exchange) {
			if e.Status == 400 {
				e.say(400, "text/plain", "bad request")
			}
		})},
		{"L06", "relay", "refusals have the code 0", []string{"REL-GEN-02"}, answers("/", func(e *Exchange) {
			if e.Status == 400 {
				e.edit(func(d any) any { object(d)["code"] = 0; return d })
			}
		})},
		{"L07", "relay", "malformed input is answered with 500", []string{"REL-GEN-04"}, status("/", 400, 400, 500)},
		{"L08", "relay", "asks for authentication", []string{"REL-GEN-05", "REL-SUB-37"}, asks("/", func(e *Exchange) bool {
			return e.say(401, jsonType, "{}")
		})},
		{"L09", "relay", "v1 of blinded_blocks is gone", []string{"REL-GEN-07", "REL-PAY-10"},
			asks(payloadPath, func(e *Exchange) bool { return e.say(404, jsonType, "{}") })},
		{"L10", "relay", "one of two requests is answered with what was said before", []string{"REL-GEN-09"}, func() Fault {
			var last []byte
			code, n := 0, 0
			return Fault{Answer: func(e *Exchange) {
				if n++; n%2 == 0 && code != 0 {
					e.Status, e.Body = code, last
				}
				last, code = e.Body, e.Status
			}}
		}},

		{"L11", "relay", "registrations are never refused", []string{
			"REL-REG-02", "REL-REG-04", "REL-REG-05", "REL-REG-09", "REL-REG-10", "REL-REG-11", "REL-REG-12",
		}, status(registerPath, 400, 499, 200)},
		{"L12", "relay", "registrations are always refused", []string{"REL-REG-08"}, status(registerPath, 200, 200, 400)},
		{"L13", "relay", "registrations are forgotten at once", []string{
			"REL-REG-01", "REL-REG-07", "REL-REG-14", "REL-REG-15", "REL-REG-13", "REL-REG-03", "REL-DAT-17",
		}, func() Fault {
			n := 0
			return Fault{Ask: func(e *Exchange) bool {
				if !e.on(registerPath) || bytes.Count(e.Asked, []byte("pubkey")) > 6 && n == 0 {
					return false // the first registration of all the world's validators, which every other spec needs
				}
				n++
				return e.say(200, "", "")
			}}
		}},
		{"L14", "relay", "registrations in SSZ are refused with 400", []string{"REL-REG-06"},
			asks(registerPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") &&
					e.say(400, jsonType, `{"code":400,"message":"no"}`)
			})},
		{"L15", "relay", "the data API tells of the first registration only", []string{"REL-REG-03", "REL-REG-01"},
			func() Fault {
				first := map[string][]byte{}
				return Fault{Answer: func(e *Exchange) {
					if !e.on("/relay/v1/data/validator_registration") || e.Status != 200 {
						return
					}
					key := e.Request.URL.RawQuery
					if known := first[key]; known != nil {
						e.Body = known
					}
					first[key] = e.Body
				}}
			}},

		{"L21", "relay", "bids have the signature of another message", []string{"REL-HDR-01"}, bid(func(m map[string]any) {
			m["value"] = "7"
		})},
		{"L22", "relay", "bids name another fork", []string{"REL-HDR-02"}, document(headerPath, func(d any) any {
			object(d)["version"] = "deneb"
			return d
		})},
		{"L23", "relay", "bids lack Eth-Consensus-Version", []string{"REL-HDR-02", "REL-HDR-09"},
			answers(headerPath, func(e *Exchange) { e.Header.Del("Eth-Consensus-Version") })},
		{"L24", "relay", "no bid is 200 with null", []string{"REL-HDR-03"}, answers(headerPath, func(e *Exchange) {
			if e.Status == 204 {
				e.say(200, jsonType, "null")
			}
		})},
		{"L25", "relay", "malformed header requests have no bid in place of a refusal",
			[]string{"REL-HDR-04", "REL-HDR-05", "REL-HDR-06", "REL-GEN-09"}, answers(headerPath, func(e *Exchange) {
				if e.Status == 400 {
					e.say(204, "", "")
				}
			})},
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
			status(headerPath, 204, 400, 200)},
		{"L38", "relay", "values are numbers", []string{"REL-HDR-25"}, answers(headerPath, func(e *Exchange) {
			e.Body = bytes.Replace(e.Body, []byte(`"gas_limit":"60000000"`), []byte(`"gas_limit":60000000`), 1)
		})},
		{"L39", "relay", "there is never a bid", []string{"REL-SUB-01", "REL-SUB-02", "REL-SUB-03"},
			status(headerPath, 200, 200, 204)},

		{"L41", "relay", "duties list every slot twice", []string{"REL-DUT-01"}, document(dutiesPath, func(d any) any {
			list, _ := d.([]any)
			return append(list, list...)
		})},
		{"L42", "relay", "duties have wrong signatures", []string{"REL-DUT-02"}, document(dutiesPath, func(d any) any {
			list, _ := d.([]any)
			for i := range list {
				at(list[i], "entry", "message")["gas_limit"] = "1"
			}
			return d
		})},
		{"L43", "relay", "duties name other validators", []string{"REL-DUT-05"}, document(dutiesPath, func(d any) any {
			list, _ := d.([]any)
			for i := range list {
				object(list[i])["validator_index"] = "77"
			}
			return d
		})},
		{"L44", "relay", "duties are an object", []string{"REL-DUT-04"}, document(dutiesPath, func(d any) any {
			return map[string]any{"data": d}
		})},
		{"L45", "relay", "duties reach far ahead", []string{"REL-DUT-06"}, document(dutiesPath, func(d any) any {
			list, _ := d.([]any)
			if len(list) == 0 {
				return d
			}
			far := map[string]any{"slot": "999999", "validator_index": "1", "entry": object(list[0])["entry"]}
			return append(list, far)
		})},

		{"L46", "relay", "duties name who never registered", []string{"REL-DUT-03"}, document(dutiesPath, func(d any) any {
			list, _ := d.([]any)
			if len(list) == 0 {
				return d
			}
			key := world.StrangerKey()
			message := map[string]any{"fee_recipient": "0x" + strings.Repeat("00", 20), "gas_limit": "1", "timestamp": "1",
				"pubkey": fmt.Sprintf("%#x", key[:])}
			entry := map[string]any{"message": message, "signature": "0x" + strings.Repeat("00", 96)}
			return append(list, map[string]any{"slot": "1", "validator_index": "7", "entry": entry})
		})},

		{"L51", "relay", "submissions are never refused", []string{
			"REL-SUB-04", "REL-SUB-05", "REL-SUB-06", "REL-SUB-07", "REL-SUB-08", "REL-SUB-09", "REL-SUB-10", "REL-SUB-11",
			"REL-SUB-12", "REL-SUB-13", "REL-SUB-14", "REL-SUB-15",
			"REL-SUB-18", "REL-SUB-25", "REL-SUB-26", "REL-SUB-28", "REL-SUB-29", "REL-SUB-30", "REL-SUB-34", "REL-SUB-36",
			"REL-SUB-27", "REL-SUB-24",
		}, status(submitPath, 400, 499, 200)},
		{"L52", "relay", "submissions in SSZ are refused with 400", []string{"REL-SUB-02"},
			asks(submitPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") && e.say(400, jsonType, "{}")
			})},
		{"L53", "relay", "packed submissions are refused with 400", []string{"REL-SUB-03"},
			asks(submitPath, func(e *Exchange) bool {
				return e.Request.Header.Get("Content-Encoding") != "" && e.say(400, jsonType, "{}")
			})},
		{"L54", "relay", "cancellations do nothing", []string{"REL-SUB-21", "REL-SUB-33"},
			asks(submitPath, func(e *Exchange) bool {
				e.Request.URL.RawQuery = ""
				return false
			})},
		{"L55", "relay", "every submission cancels", []string{"REL-SUB-22"}, asks(submitPath, func(e *Exchange) bool {
			e.Request.URL.RawQuery = "cancellations=1"
			return false
		})},
		{"L56", "relay", "a refused submission takes the leading bid with it", []string{"REL-SUB-32"}, func() Fault {
			broken := false
			return Fault{Answer: func(e *Exchange) {
				switch {
				case e.on(submitPath):
					broken = e.Status == 400
				case e.on(headerPath) && broken:
					e.say(204, "", "")
				}
			}}
		}},
		{"L57", "relay", "blocks are served that were never executed", []string{"REL-SUB-16", "REL-SUB-17", "REL-SUB-19",
			"REL-SUB-35"}, unexecuted},

		{"L61", "relay", "payloads are never revealed", []string{"REL-PAY-01", "REL-PAY-08", "REL-PAY-11", "REL-PAY-17",
			"REL-PAY-18"}, status(payloadPath, 200, 200, 400)},
		{"L62", "relay", "v2 answers with the payload", []string{"REL-PAY-02"}, answers(payloadV2, func(e *Exchange) {
			if e.Status == 202 {
				e.say(200, jsonType, "{}")
			}
		})},
		{"L63", "relay", "v2 does not publish", []string{"REL-PAY-02"}, asks(payloadV2, func(e *Exchange) bool {
			return e.say(202, "", "")
		})},
		{"L64", "relay", "refused payloads are answered with 200", []string{
			"REL-PAY-03", "REL-PAY-04", "REL-PAY-05", "REL-PAY-10", "REL-PAY-13", "REL-PAY-14", "REL-PAY-15", "REL-PAY-09",
		}, status(payloadPath, 400, 499, 200)},
		{"L65", "relay", "a payload is revealed once", []string{"REL-PAY-06"}, func() Fault {
			seen := map[string]bool{}
			return Fault{Ask: func(e *Exchange) bool {
				if !e.on(payloadPath) {
					return false
				}
				known := seen[string(e.Asked)]
				seen[string(e.Asked)] = true
				return known && e.say(400, jsonType, `{"code":400,"message":"again"}`)
			}}
		}},
		{"L66", "relay", "payloads lack their blobs", []string{"REL-PAY-08"}, document(payloadPath, func(d any) any {
			if data := at(d, "data"); data != nil {
				data["blobs_bundle"] = map[string]any{"commitments": []any{}, "proofs": []any{}, "blobs": []any{}}
			}
			return d
		})},
		{"L67", "relay", "payloads are others", []string{"REL-PAY-01", "REL-PAY-06"}, document(payloadPath, func(d any) any {
			if p := at(d, "data", "execution_payload"); p != nil {
				p["state_root"] = flip(p["state_root"])
			}
			return d
		})},
		{"L68", "relay", "payloads name another fork", []string{"REL-PAY-12"}, document(payloadPath, func(d any) any {
			object(d)["version"] = "electra"
			return d
		})},
		{"L69", "relay", "blinded blocks in SSZ are refused with 400", []string{"REL-PAY-11"},
			asks(payloadPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") && e.say(400, jsonType, "{}")
			})},
		{"L70", "relay", "payloads are always JSON", []string{"REL-PAY-17"}, asks(payloadPath, func(e *Exchange) bool {
			e.Request.Header.Del("Accept")
			return false
		})},
		{"L71", "relay", "submissions are taken after the reveal", []string{"REL-PAY-16"}, status(submitPath, 400, 400, 200)},
		{"L72", "relay", "a refused request closes the slot", []string{"REL-PAY-18"}, func() Fault {
			closed := map[string]bool{}
			slotOf := func(body []byte) string {
				var d any
				_ = json.Unmarshal(body, &d) // SSZ is not parsed: all of it counts as one slot
				slot, _ := at(d, "message")["slot"].(string)
				return slot
			}
			return Fault{
				Ask: func(e *Exchange) bool {
					return e.on(payloadPath) && closed[slotOf(e.Asked)] && e.say(400, jsonType, "{}")
				},
				Answer: func(e *Exchange) {
					closed[slotOf(e.Asked)] = closed[slotOf(e.Asked)] || e.on(payloadPath) && e.Status == 400
				},
			}
		}},
		{"L73", "relay", "what no beacon node takes is revealed all the same", []string{"REL-PAY-19", "REL-PAY-03"},
			revealed},
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
		{"L75", "relay", "what is too much is refused without Retry-After", []string{"REL-GEN-06"},
			answers("/", func(e *Exchange) { e.Header.Del("Retry-After") })},
		{"L77", "relay", "null is no list", []string{"REL-SUB-38", "REL-PAY-21"}, asks("/", func(e *Exchange) bool {
			return bytes.Contains(e.Asked, []byte(":null")) && e.say(400, jsonType, `{"code":400,"message":"a list is null"}`)
		})},
		{"L76", "relay", "what is too much is answered with 503", []string{"REL-GEN-06"}, status("/", 429, 429, 503)},
	}
}

// revealed answers refused requests for a payload with the payload of the slot's last accepted
// submission.
func revealed() Fault {
	payloads := map[string]any{}
	slotOf := func(body []byte) (string, map[string]any) {
		var d any
		_ = json.Unmarshal(body, &d) // SSZ is not parsed: all of it counts as one slot
		slot, _ := at(d, "message")["slot"].(string)
		return slot, object(d)
	}
	return Fault{Answer: func(e *Exchange) {
		slot, document := slotOf(e.Asked)
		switch {
		case e.on(submitPath) && e.Status < 300:
			payloads[slot] = document["execution_payload"]
		case e.on(payloadPath) && e.Status >= 400 && payloads[slot] != nil:
			e.edit(func(any) any {
				return map[string]any{"version": "fulu", "data": map[string]any{"execution_payload": payloads[slot]}}
			})
			e.Status = http.StatusOK
		}
	}}
}

// submitted returns the slot, the builder and the block hash of a submission in JSON. They are
// empty for one in SSZ.
func submitted(body []byte) (slot, builder, hash string) {
	var s any
	_ = json.Unmarshal(body, &s) // SSZ is not parsed: its three values are empty
	message := at(s, "message")
	slot, _ = message["slot"].(string)
	builder, _ = message["builder_pubkey"].(string)
	hash, _ = message["block_hash"].(string)
	return slot, builder, hash
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

// firstOfEach serves the first accepted block of the builder that has the top bid.
func firstOfEach() Fault {
	first, byHash := map[string][]byte{}, map[string]string{}
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath) && e.Status < 300:
			_, builder, hash := submitted(e.Asked)
			if byHash[hash] = builder; first[builder] == nil {
				first[builder] = e.Asked
			}
		case e.on(headerPath) && e.Status == http.StatusOK:
			e.edit(func(d any) any {
				hash, _ := at(d, "data", "message", "header")["block_hash"].(string)
				if known := first[byHash[hash]]; known != nil {
					return replaced(d, known)
				}
				return d
			})
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

// unexecuted serves the last block that was submitted, whether the relay accepted it or not.
func unexecuted() Fault {
	var last []byte
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath):
			last = e.Asked
		case e.on(headerPath) && e.Status == 200 && last != nil:
			e.edit(func(d any) any { return replaced(d, last) })
		}
	}}
}

// replaced puts the block hash and the value of a submission into a bid.
func replaced(bid any, submission []byte) any {
	var s any
	if json.Unmarshal(submission, &s) != nil {
		return bid
	}
	message, into := at(s, "message"), at(bid, "data", "message")
	if message != nil && into != nil {
		into["value"] = message["value"]
		at(into, "header")["block_hash"] = message["block_hash"]
	}
	return bid
}
