package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream"
)

// Nothing here reads a body, whatever comes in one, to the page or to a stream whose listener
// leaves at once; and a query costs no more than a body of its length might. Pages and refusals are
// short.
func TestMemoryOfARequestIsBoundedByWhatItSends(t *testing.T) {
	// bytes; the listener bounds all headers by those of the query
	const body, query, answerBytes = 1 << 20, 60_000, 64 << 10
	mux := &serve.Mux{NotFound: Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: Statuses.Of(stream.MethodNotAllowed.Plain()),
		Answer:     refuseListener}
	MountLive(mux, LiveConfig{Broadcast: newLiveServer(nil)})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, pattern := range mux.Patterns() {
		method, _, _ := strings.Cut(pattern, " ")
		for _, media := range []string{"text/html", "text/event-stream"} {
			check := func(name string, allowed int64, query, body string) {
				answer := new(servetest.Answer)
				peak := servetest.Peak(t, allowed, func() {
					r := httptest.NewRequestWithContext(gone, method, "/", strings.NewReader(body))
					r.URL.RawQuery = query
					r.Header.Set("Accept", media)
					answer = new(servetest.Answer)
					mux.ServeHTTP(answer, r)
				})
				if peak > allowed || answer.Bytes > answerBytes {
					t.Errorf("%s for %s, %s: %d bytes of heap and %d of answer", pattern, media, name, peak, answer.Bytes)
				}
			}
			for _, sent := range servetest.Bodies(body) {
				check(sent.Name, servetest.Extra, "", string(sent.Text))
			}
			for _, item := range []string{"a&", "ids=1&", "lastEventId=1&", "%61=%61&", "a"} {
				check("a query of "+item, servetest.Allowed(query), strings.Repeat(item, query/len(item)), "")
			}
		}
	}
}
