package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream"
)

// What a request costs in memory is bounded by what it sends, whatever it sends: the greatest heap
// is four times the decompressed body and a mebibyte, and the answer is short. An operation that is
// not in the table must read no body; a query costs what a body of its length might.
func TestMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	const answerBytes = 64 << 10
	reads := map[string]bool{"POST /api/v1/history": true}
	mux := &serve.Mux{NotFound: Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: Statuses.Of(stream.MethodNotAllowed.Plain()), Answer: Refuse}
	MountHistory(mux, HistoryConfig{History: new(threeEvents)})
	for _, pattern := range mux.Patterns() {
		size := 1 << 20
		if reads[pattern] {
			size = bodyBytes - 1<<10 // what is longer is refused unread
		}
		method, path, _ := strings.Cut(pattern, " ")
		check := func(name string, allowed int64, request func() *http.Request) {
			answer := new(servetest.Answer)
			peak := servetest.Peak(t, allowed, func() {
				answer = new(servetest.Answer)
				mux.ServeHTTP(answer, request())
			})
			if peak > allowed || answer.Bytes > answerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer", pattern, name, peak, answer.Bytes)
			}
		}
		for _, body := range servetest.Bodies(size, `{"blockStart":`, `{"limit":1,"other":`) {
			allowed := int64(servetest.Extra)
			if reads[pattern] {
				allowed = servetest.Allowed(len(body.Text))
			}
			check(body.Name, allowed, func() *http.Request {
				r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body.Text))
				r.ContentLength = -1 // as of what comes packed
				return r
			})
		}
		for _, item := range []string{"a&", "limit=1&", "%61=%61&", "a"} {
			check("a query of "+item, servetest.Allowed(60_000), func() *http.Request {
				r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
				r.URL.RawQuery = strings.Repeat(item, 60_000/len(item))
				return r
			})
		}
		delete(reads, pattern)
	}
	for pattern := range reads {
		t.Errorf("nobody answers %s", pattern)
	}
}
