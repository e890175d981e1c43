package api_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay/api"
)

// Nothing here reads a body, whatever comes in one; and a query holds no more than a body of its
// length might, whatever it repeats.
func TestMemoryOfARequestIsBoundedByWhatItSends(t *testing.T) {
	// bytes; the listener bounds all headers by those of the query
	const body, query, answerBytes = 1 << 20, 60_000, 64 << 10
	mux := api.NewMux()
	api.MountData(mux, api.DataConfig{Archive: brokenArchive{}})
	for _, pattern := range mux.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		for _, sent := range servetest.Bodies(body) {
			answer := new(servetest.Answer)
			if peak := servetest.Peak(t, servetest.Extra, func() {
				answer = new(servetest.Answer)
				mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(sent.Text)))
			}); peak > servetest.Extra || answer.Bytes > answerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer", pattern, sent.Name, peak, answer.Bytes)
			}
		}
		for _, item := range []string{"a&", "slot=1&", "limit=1&", "block_hash=0x&", "%61=%61&", "a"} {
			sent := strings.Repeat(item, query/len(item))
			answer := new(servetest.Answer)
			if peak := servetest.Peak(t, servetest.Allowed(query), func() {
				answer = new(servetest.Answer)
				r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
				r.URL.RawQuery = sent
				mux.ServeHTTP(answer, r)
			}); peak > servetest.Allowed(query) || answer.Bytes > answerBytes {
				t.Errorf("%s, a query of %q: %d bytes of heap and %d of answer", pattern, item, peak, answer.Bytes)
			}
		}
	}
}
