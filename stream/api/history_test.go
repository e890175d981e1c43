package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// threeEvents is a history that has three events, and remembers what it was asked.
type threeEvents struct {
	asked stream.Query
	err   error
	empty bool
}

func (p *threeEvents) Info() (stream.Info, error) {
	if p.empty || p.err != nil {
		return stream.Info{}, p.err
	}
	return stream.Info{Count: 3, MinBlock: 100, MaxBlock: 102, MinSec: 1_700_000_000, MaxSec: 1_700_000_024}, nil
}

func (p *threeEvents) Page(_ context.Context, q stream.Query) (events []stream.Event, err error) {
	p.asked = q
	if p.empty || p.err != nil {
		return nil, p.err
	}
	for n := range 3 {
		events = append(events, stream.Event{
			ID: uint64(n) + 1, Block: 100 + uint64(n), At: time.Unix(1_700_000_000+12*int64(n), 0), JSON: fmt.Appendf(nil,
				`{"hash":"0x%02x","logs":null,"txs":null}`, n),
		})
	}
	return events, nil
}

func serving(p *threeEvents) http.Handler {
	mux := &serve.Mux{NotFound: Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: Statuses.Of(stream.MethodNotAllowed.Plain()), Answer: Refuse}
	MountHistory(mux, HistoryConfig{History: p})
	return mux
}

func ask(t *testing.T, handler http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

const path = "/api/v1/history"

// What is asked, what the port is asked then, and what is answered.
func TestTranscript(t *testing.T) {
	var text strings.Builder
	for _, c := range []struct {
		name  string
		past  threeEvents
		lines []string // METHOD TARGET, and a body after a space
	}{
		{"info", threeEvents{}, []string{"GET /info", "GET /info?whatever=1"}},
		{"an empty history", threeEvents{empty: true}, []string{"GET /info", "GET ", "GET ?"}},
		{"bounds", threeEvents{}, []string{
			"GET ", "GET ?blockStart=100&blockEnd=102&timestampStart=1700000000&timestampEnd=1700000024&limit=3&offset=2",
			"GET ?blockStart=0&blockEnd=0",
			"GET ?limit=500", "GET ?limit=1", "GET ?blockEnd=9223372036854775807&offset=9223372036854775807",
			"GET ?blockStart=007", "GET ?cursor=5&foo=x",
			"GET ?blockStart=1&blockStart=x",
		}},
		{"what is refused", threeEvents{}, []string{
			"GET ?blockStart=abc", "GET ?blockEnd=", "GET ?timestampStart=-1", "GET ?timestampEnd=%2B1", "GET ?offset=1.5",
			"GET ?offset=0x10",
			"GET ?blockEnd=9223372036854775808", "GET ?limit=0", "GET ?limit=501", "GET ?blockStart=3&blockEnd=2",
			"GET ?timestampStart=3&timestampEnd=2",
			"GET ?blockStart=%zz", "GET ?limit=%20500", "GET ?blockStart=" + strings.Repeat("9", 100),
		}},
		{"as a POST", threeEvents{}, []string{
			"POST ", "POST  {}",
			`POST  {"blockStart":100,"blockEnd:":102,"timestampStart:":1700000000,"timestampEnd:":1700000024,"limit":3,"offset:":2}`,
			`POST  {"blockStart":0,"blockEnd:":0,"limit":0,"offset:":0}`,
			`POST  {"blockStart":"100","limit":null,"other":{"a":[1]}}`,
		}},
		{"as a POST that is refused", threeEvents{}, []string{
			"POST  [1]", "POST  null", "POST  {", "POST  {} {}", `POST  {"blockStart":-1}`, `POST  {"blockStart":1.0}`,
			`POST  {"blockEnd:":1e3}`,
			`POST  {"limit":true}`, `POST  {"limit":501}`, `POST  {"offset:":{}}`,
		}},
		{"other methods and paths", threeEvents{}, []string{"PUT ", "DELETE /info", "POST /info", "GET /",
			"GET /infos", "OPTIONS ",
			"OPTIONS /info"}},
		{"the storage is away",
			threeEvents{err: fmt.Errorf("list: %w: %w", stream.HistoryUnavailable.Plain(), errors.New("password=x"))},
			[]string{"GET /info", "GET "}},
		{"the storage is broken", threeEvents{err: errors.New("secret")}, []string{"GET /info", "GET "}},
	} {
		fmt.Fprintf(&text, "# %s\n", c.name)
		for _, line := range c.lines {
			method, rest, _ := strings.Cut(line, " ")
			target, body, _ := strings.Cut(rest, " ")
			p := c.past
			answer := ask(t, serving(&p), method, path+target, body)
			fmt.Fprintf(&text, "> %s\n", line)
			if p.asked != (stream.Query{}) {
				fmt.Fprintf(&text, "  %+v\n", p.asked)
			}
			fmt.Fprintf(&text, "< %d %s\n", answer.Code, answer.Body)
			for _, name := range []string{"Allow", "Retry-After", "Access-Control-Allow-Methods"} {
				if value := answer.Header().Get(name); value != "" {
					fmt.Fprintf(&text, "  %s: %s\n", name, value)
				}
			}
			if named := answer.Header().Get("X-Refusal") != ""; named != (answer.Code >= 400) {
				t.Errorf("%d names a refusal: %t", answer.Code, named)
			}
			if answer.Code != http.StatusNoContent && answer.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s: content type %q", line, answer.Header().Get("Content-Type"))
			}
		}
		text.WriteByte('\n')
	}
	golden.File(t, "testdata/history.txt", text.String())
}

// Pages of any origin may read, also what is refused; or those of one origin.
func TestOrigins(t *testing.T) {
	one := &serve.Mux{NotFound: Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: Statuses.Of(stream.MethodNotAllowed.Plain()), Answer: Refuse}
	MountHistory(one, HistoryConfig{History: &threeEvents{}, Origin: "https://example.org"})
	for handler, want := range map[http.Handler]string{serving(&threeEvents{}): "*", one: "https://example.org"} {
		for _, target := range []string{path, path + "/info", path + "?limit=0"} {
			if got := ask(t, handler, http.MethodGet, target, "").Header().Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("%s: %q, want %q", target, got, want)
			}
		}
	}
}

// Bodies that cannot be had.
func TestBodies(t *testing.T) {
	var small bytes.Buffer
	zip := gzip.NewWriter(&small)
	if _, err := io.WriteString(zip, `{"limit":7}`); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, encoding, body string
		status, limit        int
	}{
		{"compressed", "gzip", small.String(), 200, 7},
		{"too large", "", `{"other":"` + strings.Repeat("x", bodyBytes) + `"}`, 413, 0},
		{"not compressed", "gzip", "{}", 400, 0},
		{"unknown encoding", "br", "{}", 415, 0},
	} {
		p := threeEvents{}
		answer := ask(t, serving(&p), http.MethodPost, path, c.body, "Content-Encoding", c.encoding)
		if answer.Code != c.status || p.asked.Limit != c.limit {
			t.Errorf("%s: %d %s, limit %d", c.name, answer.Code, answer.Body, p.asked.Limit)
		}
	}
}

// Whatever is asked, it is answered, or refused as the client's mistake.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "blockStart=1&blockEnd=2", "limit=501", "offset=-1", "%zz", `{"blockEnd:":5}`,
		`{"limit":"7"}`, `[]`, `{"a":1e999}`} {
		f.Add(seed, seed)
	}
	s := &historyHandler{HistoryConfig: HistoryConfig{MaxLimit: 500}}
	f.Fuzz(func(t *testing.T, query, body string) {
		check := func(q stream.Query, err error) {
			refused := (*stream.Refused)(nil)
			switch {
			case err != nil && (!errors.As(err, &refused) || Statuses[refused.ID] != http.StatusBadRequest):
				t.Fatalf("%v", err)
			case err == nil && (q.Limit < 1 || q.Limit > 500 || q.Offset < 0 || q.Blocks.From > q.Blocks.To ||
				q.Times.From > q.Times.To):
				t.Fatalf("%+v", q)
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.URL.RawQuery = query
		check(s.readQuery(r))
		if v, err := readObject([]byte(body)); err != nil {
			check(stream.Query{}, err)
		} else {
			check(v.query(500))
		}
	})
}

// Pages wait for their turn.
func TestPagesAtOnce(t *testing.T) {
	s := &historyHandler{HistoryConfig: HistoryConfig{History: &threeEvents{}, MaxLimit: 500},
		pages: make(chan struct{}, 1)}
	s.pages <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	s.answering(s.get)(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	<-s.pages
	answer = httptest.NewRecorder()
	s.answering(s.get)(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if list := []any(nil); json.Unmarshal(answer.Body.Bytes(), &list) != nil || len(list) != 3 || len(s.pages) != 0 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
