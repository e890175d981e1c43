package mutant

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/world"
)

// headerAsked returns the parts of getHeader's path.
func (e *Exchange) headerAsked() (slot, parent, key string) {
	parts := strings.Split(strings.TrimPrefix(e.Request.URL.Path, headerPath), "/")
	if !e.on(headerPath) || len(parts) != 3 {
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}

// noBid is a fault that answers malformed requests for a header with 204, if they are wrong in one
// way.
func noBid(wrong func(slot, parent, key string) bool) func() Fault {
	return answers(headerPath, func(e *Exchange) {
		if e.Status == http.StatusBadRequest && wrong(e.headerAsked()) {
			e.say(http.StatusNoContent, "", "")
		}
	})
}

// isHex says whether a text is 0x and so many hexadecimal digits.
func isHex(text string, digits int) bool {
	rest, found := strings.CutPrefix(text, "0x")
	return found && len(rest) == digits && strings.Trim(strings.ToLower(rest), "0123456789abcdef") == ""
}

// askedMutants returns the mutants that answer some requests for a header wrongly.
func askedMutants() []Mutant {
	return []Mutant{
		{"relay-no-bid-for-slot-that-is-no-number", "relay", "has no bid for a slot that is no number",
			[]string{"REL-HDR-04"},
			noBid(func(slot, _, _ string) bool {
				_, err := strconv.ParseUint(slot, 10, 64)
				return err != nil
			})},
		{"relay-no-bid-for-parent-that-is-no-hash", "relay", "has no bid for a parent that is no hash",
			[]string{"REL-HDR-05"},
			noBid(func(_, parent, _ string) bool { return !isHex(parent, 64) })},
		{"relay-no-bid-for-key-that-has-another-length", "relay", "has no bid for a key that has another length",
			[]string{"REL-HDR-06"},
			noBid(func(_, _, key string) bool { return !isHex(key, 96) })},
		{"relay-serves-last-bid-to-proposer-that-never-registered", "relay",
			"serves the last bid to a proposer that never registered", []string{"REL-HDR-24"}, func() Fault {
				last := `{"version":"fulu","data":{}}`
				stranger := world.StrangerKey().String()
				return Fault{Answer: func(e *Exchange) {
					_, _, key := e.headerAsked()
					switch {
					case e.Status == http.StatusOK && e.on(headerPath):
						last = string(e.Body)
					case strings.EqualFold(key, stranger):
						e.say(http.StatusOK, jsonType, last)
					}
				}}
			}},
		{"relay-serves-slots-bid-to-any-proposer", "relay", "serves the slot's bid to any proposer", []string{"REL-HDR-07"},
			func() Fault {
				bids := map[string][]byte{}
				return Fault{Answer: func(e *Exchange) {
					slot, parent, _ := e.headerAsked()
					switch {
					case !e.on(headerPath):
					case e.Status == http.StatusOK:
						bids[slot+parent] = e.Body
					case bids[slot+parent] != nil:
						e.say(http.StatusOK, jsonType, string(bids[slot+parent]))
					}
				}}
			}},
		{"relay-serves-no-bid-once-slot-has-begun", "relay", "serves no bid once the slot has begun",
			[]string{"REL-HDR-28"}, answers(headerPath,
				func(e *Exchange) {
					var d any
					_ = json.Unmarshal(e.Body, &d) // SSZ is not parsed: the spec asks for JSON
					text, _ := at(d, "data", "message", "header")["timestamp"].(string)
					if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && time.Now().Unix() >= seconds {
						e.say(http.StatusNoContent, "", "")
					}
				})},
		{"relay-reads-q-of-0-as-any-other-q", "relay", "reads q=0 as any other q", []string{"REL-HDR-27"}, asks(headerPath,
			func(e *Exchange) bool {
				e.Request.Header.Set("Accept", strings.ReplaceAll(e.Request.Header.Get("Accept"), ";q=0", ""))
				return false
			})},
		{"relay-bids-in-ssz-have-another-signature", "relay", "bids in SSZ have another signature than those in JSON",
			[]string{"REL-HDR-18"},
			answers(headerPath, func(e *Exchange) {
				const signature = 10 // within the signature, which follows the offset of the message
				if strings.HasPrefix(e.Header.Get("Content-Type"), octets) && len(e.Body) > signature {
					e.Body[signature] ^= 1
				}
			})},
	}
}
