package api

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// What a request of the operator costs in memory is bounded by what it sends, whatever it sends,
// with the token and without: the greatest heap is four times the decompressed body and a mebibyte,
// and the answer is short. An operation that is not in the table must read no body.
func TestAdminMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	begins := map[string][]string{
		"PUT /admin/v1/builders/{name}":          {`{"pubkeys":`, `{"pubkeys":["0x00"],"why":`},
		"POST /admin/v1/builders/{name}/promote": {`{"why":`},
		"POST /admin/v1/builders/{name}/suspend": {`{"why":`},
		"PUT /admin/v1/kill-switch":              {`{"on":true,"why":`},
	}
	h := newAdminAPI(t)
	paths := strings.NewReplacer("{name}", "alpha", "{block_hash}", "0x")
	for _, pattern := range h.mux.Patterns() {
		within, reads := begins[pattern]
		delete(begins, pattern)
		method, path, _ := strings.Cut(pattern, " ")
		path = paths.Replace(path)
		for _, body := range servetest.Bodies(adminMemoryBody, within...) {
			allowed := servetest.Allowed(len(body.Text))
			if !reads {
				allowed = servetest.Extra
			}
			answer := new(servetest.Answer)
			peak := servetest.Peak(t, allowed, func() {
				r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body.Text))
				r.ContentLength = -1 // as of what comes packed
				r.Header.Set("Authorization", "Bearer "+token)
				answer = new(servetest.Answer)
				h.handler.ServeHTTP(answer, r)
			})
			if peak > allowed || answer.Bytes > maxAnswerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer for %d", pattern, body.Name, peak, answer.Bytes, len(body.Text))
			}
		}
	}
	for pattern := range begins {
		t.Errorf("nobody answers %s", pattern)
	}
}

// adminMemoryBody is just below what is refused unread.
const adminMemoryBody = memoryBody - 1<<10
