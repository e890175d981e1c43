package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/relay/wire"
)

// loopback is the builder's API behind a socket, and a builder's client that sends as fast as it
// can. It uses the same processors.
type loopback struct {
	server *httptest.Server
	client *http.Client
	got    chan *lastRead // of the request that is being answered
}

// overLoopback opens a server for a way.
func overLoopback(b *testing.B, h *benchWay) *loopback {
	b.Helper()
	l := &loopback{got: make(chan *lastRead, 1)}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &lastRead{from: r.Body}
		r.Body = io.NopCloser(body)
		h.handler.ServeHTTP(w, r)
		l.got <- body
	}))
	b.Cleanup(l.server.Close)
	l.client = l.server.Client()
	return l
}

// send is benchWay.submit over the socket: how long it took from when the last byte was read to
// the bid on the board.
func (l *loopback) send(b *testing.B, h *benchWay, from int, identified bool, body []byte) (visible time.Duration) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, l.server.URL+"/relay/v1/builder/blocks"+h.query,
		bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", wire.SSZ.ContentType())
	if identified {
		r.Header.Set("X-Api-Key", fmt.Sprintf("%s %d", benchAPIKey, from))
	}
	answer, err := l.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	said, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		b.Fatal(err)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("submission: %s %s, %v", answer.Status, said, err)
	}
	return h.board.shown.Sub((<-l.got).at)
}
