package mutant

import (
	"encoding/json"
	"net/http"
	"strings"
)

// payloadMutants returns the mutants of getPayload.
func payloadMutants() []Mutant {
	return []Mutant{
		{"relay-payloads-never-revealed", "relay", "payloads are never revealed", []string{"REL-PAY-01", "REL-PAY-08",
			"REL-PAY-11", "REL-PAY-17",
			"REL-PAY-18"}, blanket(status(payloadPath, 200, 200, 400))},
		{"relay-v2-answers-with-payload", "relay", "v2 answers with the payload", []string{"REL-PAY-02"}, answers(payloadV2,
			func(e *Exchange) {
				if e.Status == 202 {
					e.say(200, jsonType, "{}")
				}
			})},
		{"relay-v2-does-not-publish", "relay", "v2 does not publish", []string{"REL-PAY-02"}, asks(payloadV2,
			func(e *Exchange) bool {
				return e.say(202, "", "")
			})},
		{"relay-refused-payloads-answered-with-200", "relay", "refused payloads are answered with 200", []string{
			"REL-PAY-03", "REL-PAY-04", "REL-PAY-05", "REL-PAY-10", "REL-PAY-13", "REL-PAY-14", "REL-PAY-15", "REL-PAY-09",
		}, blanket(status(payloadPath, 400, 499, 200))},
		{"relay-payload-revealed-once", "relay", "a payload is revealed once", []string{"REL-PAY-06"}, func() Fault {
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
		{"relay-payloads-lack-their-blobs", "relay", "payloads lack their blobs", []string{"REL-PAY-08"},
			document(payloadPath, func(d any) any {
				if data := at(d, "data"); data != nil {
					data["blobs_bundle"] = map[string]any{"commitments": []any{}, "proofs": []any{}, "blobs": []any{}}
				}
				return d
			})},
		{"relay-payloads-are-others", "relay", "payloads are others", []string{"REL-PAY-01", "REL-PAY-06"},
			document(payloadPath, func(d any) any {
				if p := at(d, "data", "execution_payload"); p != nil {
					p["state_root"] = flip(p["state_root"])
				}
				return d
			})},
		{"relay-payloads-name-another-fork", "relay", "payloads name another fork", []string{"REL-PAY-12"},
			document(payloadPath, func(d any) any {
				object(d)["version"] = "electra"
				return d
			})},
		{"relay-blinded-blocks-in-ssz-refused-with-400", "relay", "blinded blocks in SSZ are refused with 400",
			[]string{"REL-PAY-11"},
			asks(payloadPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") && e.say(400, jsonType, "{}")
			})},
		{"relay-payloads-always-json", "relay", "payloads are always JSON", []string{"REL-PAY-17"}, asks(payloadPath,
			func(e *Exchange) bool {
				e.Request.Header.Del("Accept")
				return false
			})},
		{"relay-submissions-taken-after-reveal", "relay", "submissions are taken after the reveal", []string{"REL-PAY-16"},
			blanket(status(submitPath, 400, 400, 200))},
		{"relay-refused-request-closes-slot", "relay", "a refused request closes the slot", []string{"REL-PAY-18"},
			func() Fault {
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
		{"relay-unpublished-payload-revealed", "relay", "what no beacon node takes is revealed all the same",
			[]string{"REL-PAY-19", "REL-PAY-03"},
			revealRefused},
	}
}

// revealRefused answers refused requests for a payload with the payload of the slot's last accepted
// submission.
func revealRefused() Fault {
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
