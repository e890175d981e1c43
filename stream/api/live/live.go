// Package live is the HTTP skin of the stream: GET / answers with server-sent events (HTML Living
// Standard 9.2) until one of both goes, and a browser that goes there with a small page that shows
// them.
//
//	GET /  Accept: text/event-stream, */*, none ──▶ data: {"hash":…}⏎⏎ data: …  :ping⏎⏎ (15 s after the last write)  …
//	       Accept: text/html preferred          ──▶ the page, which opens an EventSource on GET /?ids=1
//
// Clients read lines, some of them with a few lines of code. So there is nothing in the stream but
// data lines and pings, and what else there is has to be asked for by query: ?ids=1 puts an id
// before every event, and then a Last-Event-ID header (or &lastEventId=, for who cannot set
// headers) resumes after that event; ?gzip=1 compresses, if Accept-Encoding allows it too, since
// some clients send that header without being asked.
package live

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/audience"
)

// Audience is where the events are heard.
type Audience interface {
	// Listen joins; whoever joins must leave. Refusals are *stream.Refused.
	Listen(ctx context.Context, wish audience.Wish) (*audience.Listener, error)
	// Recent are the last events, oldest first.
	Recent() []stream.Event
}

// Config is what the skin needs.
type Config struct {
	Audience Audience
	// Ping is how long a connection is silent before a ping: 15 s.
	Ping time.Duration
	// Origin is what Access-Control-Allow-Origin says: *.
	Origin string
	// AddressOf is what stands for the address of a request's client, which has a share of the
	// listeners; nil if nobody knows.
	AddressOf func(*http.Request) string
	// Network is named by the page, as in "mainnet"; it may be empty.
	Network string
}

// retryListen is what somebody without a place is told to wait, in seconds.
const retryListen = 5

// Mount adds the operations to a mux.
func Mount(mux *serve.Mux, c Config) {
	s := &skin{c}
	s.Ping = cmp.Or(s.Ping, 15*time.Second)
	s.Origin = cmp.Or(s.Origin, "*")
	mux.Handle(http.MethodGet, "/{$}", s.root)
	mux.Handle(http.MethodOptions, "/{$}", s.preflight)
}

type skin struct{ Config }

// root answers with the stream, unless somebody would rather have a page to look at.
func (s *skin) root(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", s.Origin)
	header.Set("Vary", "Accept")
	if asksGzip(r) {
		header.Set("Vary", "Accept, Accept-Encoding")
	}
	// What fits neither is answered with the stream: there are clients that a refusal would stop for
	// good.
	if media, _ := serve.Negotiate(r, "text/event-stream", "text/html"); media == "text/html" {
		s.page(w, r)
		return
	}
	s.stream(w, r)
}

// preflight lets pages of other origins send what resumes a stream (Fetch Standard, 3.2).
func (s *skin) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", s.Origin)
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
	header.Set("Access-Control-Allow-Headers", "Last-Event-ID, Cache-Control, Accept")
	header.Set("Access-Control-Max-Age", "86400")
	header.Set("Allow", "GET, HEAD, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

// wishOf reads what a request wants to hear.
func wishOf(r *http.Request) (wish audience.Wish, refused *stream.Refused) {
	query := r.URL.Query()
	wish.IDs = query.Get("ids") == "1"
	// the header is newer: a browser sends both when it comes back
	text := cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("lastEventId"))
	if !wish.IDs || text == "" {
		return wish, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return wish, stream.InvalidLastEventID.With("%.90q", text)
	}
	wish.Resume, wish.After = true, id
	return wish, nil
}

// asksGzip says whether a request leaves it to Accept-Encoding whether the stream is compressed.
func asksGzip(r *http.Request) bool { return r.URL.Query().Get("gzip") == "1" }

// wantsGzip says whether a request asks for compression, twice.
func wantsGzip(r *http.Request) bool {
	if !asksGzip(r) {
		return false
	}
	for item := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameter, _ := strings.Cut(strings.ReplaceAll(item, " ", ""), ";")
		if strings.EqualFold(name, "gzip") && !refuses(parameter) {
			return true
		}
	}
	return false
}

// refuses says whether a parameter is a quality of zero.
func refuses(parameter string) bool {
	value, isQuality := strings.CutPrefix(parameter, "q=")
	quality, err := strconv.ParseFloat(value, 64)
	return isQuality && (err != nil || quality == 0)
}
