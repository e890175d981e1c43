package mutant

import (
	"net/http"
	"strconv"
	"strings"
)

// filterMutants returns the mutants of the data interface that read a query wrongly, or list what
// was never delivered.
func filterMutants() []Mutant {
	query := func(e *Exchange, name string) string { return e.Request.URL.Query().Get(name) }
	return []Mutant{
		{"relay-slot-that-is-no-number-finds-nothing", "relay", "a slot that is no number finds nothing",
			[]string{"REL-DAT-10"}, answers(dataPath,
				func(e *Exchange) {
					if _, err := strconv.ParseInt(query(e, "slot"), 10, 64); query(e, "slot") != "" && err != nil {
						e.say(http.StatusOK, jsonType, "[]")
					}
				})},
		{"relay-without-key-there-is-empty-registration", "relay", "without a key there is an empty registration",
			[]string{"REL-DAT-19"}, answers(registrationPath,
				func(e *Exchange) {
					if query(e, "pubkey") == "" {
						e.say(http.StatusOK, jsonType, "{}")
					}
				})},
		{"relay-negative-numbers-are-no-filter", "relay", "negative numbers are no filter", []string{"REL-DAT-30"},
			asks(dataPath,
				func(e *Exchange) bool {
					values := e.Request.URL.Query()
					for _, name := range []string{"slot", "cursor", "block_number"} {
						if strings.HasPrefix(values.Get(name), "-") {
							values.Del(name)
						}
					}
					e.Request.URL.RawQuery = values.Encode()
					return false
				})},
		{"relay-hashes-in-capitals-find-nothing", "relay", "hashes in capitals find nothing", []string{"REL-DAT-31"},
			answers(dataPath, func(e *Exchange) {
				if hash := query(e, "block_hash"); hash != strings.ToLower(hash) {
					e.say(http.StatusOK, jsonType, "[]")
				}
			})},
		{"relay-limit-ignored-for-received-blocks", "relay", "limit is ignored for received blocks", []string{"REL-DAT-07"},
			dropParams(receivedPath, "limit")},
		{"relay-slot-and-cursor-may-come-together", "relay", "slot and cursor may come together", []string{"REL-DAT-09"},
			asks(deliveredPath,
				func(e *Exchange) bool {
					if values := e.Request.URL.Query(); values.Has("slot") && values.Has("cursor") {
						values.Del("cursor")
						e.Request.URL.RawQuery = values.Encode()
					}
					return false
				})},
		{"relay-received-blocks-need-no-filter", "relay", "received blocks need no filter", []string{"REL-DAT-16"},
			answers(receivedPath,
				func(e *Exchange) {
					if e.Request.URL.RawQuery == "" {
						e.say(http.StatusOK, jsonType, "[]")
					}
				})},
	}
}
