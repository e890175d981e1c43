package proposer

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/heaptest"
)

// What a request costs in memory is bounded by what it sends, whatever it sends: the greatest heap is four times the decompressed body and a
// mebibyte, and the answer is short. An operation that is not in the table must read no body.
func TestMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	text, _ := registrations(t)
	before := func(mark string) string {
		return string(text[:strings.Index(string(text), mark)+len(mark)])
	}
	marks := map[string][]string{
		"POST /eth/v1/builder/validators": {before(`"message":`), before(`"fee_recipient":`), before(`"signature":`)},
		"POST /eth/v1/builder/blinded_blocks": {
			`{"message":{"slot":"1","body":`, `{"message":{"slot":"1","body":{"attester_slashings":[{"attestation_1":{"attesting_indices":`,
		},
		"POST /eth/v2/builder/blinded_blocks": {`{"message":{"slot":"1","body":{"attester_slashings":`},
	}
	mux := new(desk).handler()
	for _, pattern := range mux.Patterns() {
		begins, reads := marks[pattern]
		delete(marks, pattern)
		method, path, _ := strings.Cut(pattern, " ")
		for _, body := range heaptest.Bodies(memoryBody, begins...) {
			allowed := heaptest.Allowed(len(body.Text))
			if !reads {
				allowed = heaptest.Extra
			}
			small := gzipped(t, body.Text)
			answer := new(heaptest.Answer)
			peak := heaptest.Peak(t, allowed, func() {
				r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(small))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Content-Encoding", "gzip")
				answer = new(heaptest.Answer)
				mux.ServeHTTP(answer, r)
			})
			if peak > allowed || answer.Bytes > maxAnswerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer for %d", pattern, body.Name, peak, answer.Bytes, len(body.Text))
			}
		}
	}
	for pattern := range marks {
		t.Errorf("nobody answers %s", pattern)
	}
}

const (
	memoryBody     = 1 << 20
	maxAnswerBytes = 64 << 10
)
