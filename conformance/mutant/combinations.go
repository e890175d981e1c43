package mutant

import (
	"net/http"
	"strings"
)

// combinationMutants returns the mutants that break one pair of forms only: each form alone, and
// every other pair, is answered as it should be.
func combinationMutants() []Mutant {
	sends := func(e *Exchange, name, part string) bool { return strings.Contains(e.Request.Header.Get(name), part) }
	unsupported := func(e *Exchange) bool {
		return e.say(http.StatusUnsupportedMediaType, jsonType, `{"code":415,"message":"unsupported"}`)
	}
	return []Mutant{
		{"relay-ssz-in-gzip-not-read-by-version-2", "relay", "SSZ in gzip is not read by version 2", []string{"REL-CMB-01"},
			asks(payloadV2, func(e *Exchange) bool {
				return e.hasMedia("application/octet-stream") && sends(e, "Content-Encoding", "gzip") && unsupported(e)
			})},
		{"relay-registrations-in-ssz-and-gzip-answered-and-forgotten", "relay",
			"registrations in SSZ and gzip are answered, and forgotten", []string{"REL-CMB-01"},
			asks(registerPath, func(e *Exchange) bool {
				return e.hasMedia("application/octet-stream") && sends(e, "Content-Encoding", "gzip") &&
					e.say(http.StatusOK, "", "")
			})},
		{"relay-q-not-read-when-it-prefers-json", "relay", "q is not read when it prefers JSON", []string{"REL-CMB-02"},
			asks(headerPath, func(e *Exchange) bool {
				if strings.HasPrefix(e.Request.Header.Get("Accept"), "application/octet-stream;q=0.5") {
					e.Request.Header.Set("Accept", "application/octet-stream")
				}
				return false
			})},
		{"relay-text-in-gzip-taken-for-json", "relay", "text in gzip is taken for JSON", []string{"REL-CMB-02"},
			asks(registerPath, func(e *Exchange) bool {
				if e.hasMedia("text/plain") && sends(e, "Content-Encoding", "gzip") {
					e.Request.Header.Set("Content-Type", jsonType)
				}
				return false
			})},
		{"relay-charset-not-read-of-block-in-gzip", "relay", "a charset is not read of a block in gzip",
			[]string{"REL-CMB-03"}, asks(submitPath,
				func(e *Exchange) bool {
					return sends(e, "Content-Type", "charset") && sends(e, "Content-Encoding", "gzip") && unsupported(e)
				})},
		{"relay-blocks-in-unknown-encoding-answered-with-200", "relay",
			"blocks in an unknown encoding are answered with 200", []string{"REL-CMB-04"},
			asks(submitPath, func(e *Exchange) bool {
				return sends(e, "Content-Encoding", "br") && e.say(http.StatusOK, "", "")
			})},
		{"relay-builder-pubkey-ignored-beside-block-number", "relay", "builder_pubkey is ignored beside block_number",
			[]string{"REL-CMB-05"},
			dropBeside(deliveredPath, "builder_pubkey", "block_number")},
		{"relay-slot-ignored-beside-proposer-pubkey", "relay", "slot is ignored beside proposer_pubkey",
			[]string{"REL-CMB-05"},
			dropBeside(deliveredPath, "slot", "proposer_pubkey")},
		{"relay-block-hash-ignored-beside-slot", "relay", "block_hash is ignored beside slot", []string{"REL-CMB-06"},
			dropBeside(receivedPath, "block_hash", "slot")},
	}
}

// dropBeside is a fault that removes a parameter from queries that have another one, too.
func dropBeside(path, name, other string) func() Fault {
	return asks(path, func(e *Exchange) bool {
		if query := e.Request.URL.Query(); query.Has(name) && query.Has(other) {
			query.Del(name)
			e.Request.URL.RawQuery = query.Encode()
		}
		return false
	})
}
