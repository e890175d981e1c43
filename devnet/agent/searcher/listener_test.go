package searcher

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
)

// connection is what a stream says on one connection: the id after which it is asked to begin, and
// the hints that it tells then, as id:hash.
type connection struct{ after, hints string }

// radio is a stream that plays connections one after another, and has some hashes in its history.
type radio struct {
	t       *testing.T
	plays   []connection
	history string
}

func (s *radio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		s.play(w, r)
	case "/api/v1/history/info":
		fmt.Fprint(w, `{"count":1,"maxLimit":500}`)
	default:
		var records []string
		for hash := range strings.FieldsSeq(s.history) {
			records = append(records, fmt.Sprintf(`{"block":1,"timestamp":1,"hint":%s}`, hint(hash)))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(records, ","))
	}
}

func (s *radio) play(w http.ResponseWriter, r *http.Request) {
	now := s.plays[0]
	s.plays = s.plays[1:]
	if got := r.Header.Get("Last-Event-ID"); got != now.after {
		s.t.Errorf("asked for what follows %q, want %q", got, now.after)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for one := range strings.FieldsSeq(now.hints) {
		id, hash, _ := strings.Cut(one, ":")
		fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, hint(hash))
	}
	if len(s.plays) == 0 {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func hint(hash string) string {
	return fmt.Sprintf(`{"hash":"%s","logs":null,"txs":null}`, common.HexToHash(hash))
}

func leaping() *clock.Leap {
	begin := time.Unix(1_700_000_000, 0)
	return clock.NewLeap(begin, begin.Add(time.Hour), nil)
}

// listen plays connections to a listener, and returns what it told; it ends when it was told of the
// last word.
func listen(t *testing.T, history string, chain clock.Clock, stall time.Duration, last int,
	plays ...connection) []string {
	t.Helper()
	server := httptest.NewServer(&radio{t: t, plays: plays, history: history})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	l, err := NewListener(ListenerConfig{
		Name: "searcher-1", Service: "stream", URL: server.URL, Stall: stall, Clock: chain,
		Log: slog.New(slog.DiscardHandler),
		Tell: func(r devnet.Event) {
			if r.Actor != "searcher-1" || r.At != "stream" {
				t.Errorf("told of %+v", r)
			}
			if told = append(told, r.Subject); len(told) == last {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(ctx); err != nil {
		t.Errorf("run ended with %v", err)
	}
	return told
}

// Each row is what streams say, connection by connection, what their history has then, and what is
// told of that.
func TestListener(t *testing.T) {
	const heard, twice, left, kept = devnet.HintHeard, devnet.HintRepeated, devnet.ListenerLeft, devnet.HistoryKept
	for _, c := range []struct {
		name    string
		history string
		plays   []connection
		want    []string
	}{
		{"hints as they come", "", []connection{{"", "1:a 2:b"}}, []string{heard, heard}},
		{"a hint that comes twice", "", []connection{{"", "1:a 2:a 3:b"}}, []string{heard, twice, heard}},
		{"who is cut comes back after the last hint, and looks into the history", "a b c",
			[]connection{{"", "1:a 2:b"}, {"2", "3:c"}}, []string{heard, heard, left, heard, kept}},
		{"a history that has lost something is not praised", "a c",
			[]connection{{"", "1:a 2:b"}, {"2", "3:c 4:d"}}, []string{heard, heard, left, heard, heard}},
		{"a connection that brings nothing is nothing to be cut from", "a b",
			[]connection{{"", "1:a"}, {"1", ""}, {"1", "2:b"}}, []string{heard, left, heard, kept}},
		{"neither is the first one", "", []connection{{"", ""}, {"", "1:a"}}, []string{heard}},
		{"the history is read each time", "a b c",
			[]connection{{"", "1:a"}, {"1", "2:b"}, {"2", "3:c"}}, []string{heard, left, heard, kept, left, heard, kept}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := listen(t, c.history, leaping(), 0, len(c.want), c.plays...); !slices.Equal(got, c.want) {
				t.Errorf("told %v, want %v", got, c.want)
			}
		})
	}
}

// Who stalls does so once, after the first hint.
func TestStall(t *testing.T) {
	chain := leaping()
	begin := chain.Now()
	listen(t, "a b", chain, 24*time.Second, 4, connection{"", "1:a"}, connection{"1", "2:b"})
	if waited := chain.Now().Sub(begin); waited != 24*time.Second {
		t.Errorf("waited %s, want the stall of 24 s", waited)
	}
}

// A stream that says that the request is wrong will not say anything else.
func TestListenerRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	l, err := NewListener(ListenerConfig{Name: "searcher-1", URL: server.URL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "searcher searcher-1: listen to hints: status 404") {
		t.Errorf("run ended with %v", err)
	}
	if _, err := NewListener(ListenerConfig{URL: "nowhere"}); err == nil {
		t.Error("an address without a host is taken")
	}
}
