package mutant

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// submitMutants returns the mutants of submissions of blocks.
func submitMutants() []Mutant {
	return []Mutant{
		{"relay-submissions-never-refused", "relay", "submissions are never refused", []string{
			"REL-SUB-04", "REL-SUB-05", "REL-SUB-06", "REL-SUB-07", "REL-SUB-08", "REL-SUB-09", "REL-SUB-10", "REL-SUB-11",
			"REL-SUB-12", "REL-SUB-13", "REL-SUB-14", "REL-SUB-15",
			"REL-SUB-18", "REL-SUB-25", "REL-SUB-26", "REL-SUB-28", "REL-SUB-29", "REL-SUB-30", "REL-SUB-34", "REL-SUB-36",
			"REL-SUB-27", "REL-SUB-24",
		}, blanket(status(submitPath, 400, 499, 200))},
		{"relay-submissions-in-ssz-refused-with-400", "relay", "submissions in SSZ are refused with 400",
			[]string{"REL-SUB-02"},
			asks(submitPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") && e.say(400, jsonType, "{}")
			})},
		{"relay-packed-submissions-refused-with-400", "relay", "packed submissions are refused with 400",
			[]string{"REL-SUB-03"},
			asks(submitPath, func(e *Exchange) bool {
				return e.Request.Header.Get("Content-Encoding") != "" && e.say(400, jsonType, "{}")
			})},
		{"relay-cancellations-do-nothing", "relay", "cancellations do nothing", []string{"REL-SUB-21", "REL-SUB-33"},
			asks(submitPath, func(e *Exchange) bool {
				e.Request.URL.RawQuery = ""
				return false
			})},
		{"relay-every-submission-cancels", "relay", "every submission cancels", []string{"REL-SUB-22"}, asks(submitPath,
			func(e *Exchange) bool {
				e.Request.URL.RawQuery = "cancellations=1"
				return false
			})},
		{"relay-refused-submission-takes-leading-bid-with-it", "relay",
			"a refused submission takes the leading bid with it", []string{"REL-SUB-32"}, func() Fault {
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
		{"relay-blocks-served-that-were-never-executed", "relay", "blocks are served that were never executed",
			[]string{"REL-SUB-16", "REL-SUB-17", "REL-SUB-19",
				"REL-SUB-35"}, blanket(serveUnexecuted)},
		{"relay-null-is-no-list", "relay", "null is no list", []string{"REL-SUB-38", "REL-PAY-21"}, asks("/",
			func(e *Exchange) bool {
				return bytes.Contains(e.Asked, []byte(":null")) && e.say(400, jsonType, `{"code":400,"message":"a list is null"}`)
			})},
	}
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

// serveFirstOfEach serves the first accepted block of the builder that has the top bid.
func serveFirstOfEach() Fault {
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
					return replaceBid(d, known)
				}
				return d
			})
		}
	}}
}

// serveUnexecuted serves the last block that was submitted, whether the relay accepted it or not.
func serveUnexecuted() Fault {
	var last []byte
	return Fault{Answer: func(e *Exchange) {
		switch {
		case e.on(submitPath):
			last = e.Asked
		case e.on(headerPath) && e.Status == 200 && last != nil:
			e.edit(func(d any) any { return replaceBid(d, last) })
		}
	}}
}

// replaceBid puts the block hash and the value of a submission into a bid.
func replaceBid(bid any, submission []byte) any {
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
