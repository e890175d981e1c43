package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// Broadcast is where listeners get events from.
type Broadcast interface {
	// Listen adds a listener. The caller must call its Leave. Refusals are *stream.Refused.
	Listen(ctx context.Context, wanted broadcast.Subscription) (*broadcast.Listener, error)
	// Recent are the last events, oldest first.
	Recent() []stream.Event
}

// LiveConfig is what the stream's handlers need.
type LiveConfig struct {
	Broadcast Broadcast
	// Ping is how long a connection is silent before a ping; 0 is 15 s.
	Ping time.Duration
	// Origin is the value of Access-Control-Allow-Origin; empty is *.
	Origin string
	// AddressOf is the key of a client's address, for the bound on listeners of one address. If it
	// is nil, that bound has no effect.
	AddressOf func(*http.Request) string
	// Network is the network's name on the page, such as "mainnet"; it may be empty.
	Network string
}

// retryListen is the Retry-After, in seconds, for a listener without a place.
const retryListen = 5

// MountLive adds the operations of the stream to a mux.
func MountLive(mux *serve.Mux, c LiveConfig) {
	h := &liveHandler{c}
	h.Ping = cmp.Or(h.Ping, 15*time.Second)
	h.Origin = cmp.Or(h.Origin, "*")
	mux.Handle(http.MethodGet, "/{$}", h.root)
	mux.Handle(http.MethodOptions, "/{$}", h.preflight)
}

type liveHandler struct{ LiveConfig }

// root answers with the stream, or with the page if the client prefers HTML.
func (h *liveHandler) root(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", h.Origin)
	header.Set("Vary", "Accept")
	if asksGzip(r) {
		header.Set("Vary", "Accept, Accept-Encoding")
	}
	// If Accept allows neither, the answer is the stream, because after a refusal some clients
	// never come back.
	if media, _ := serve.Negotiate(r, "text/event-stream", "text/html"); media == "text/html" {
		h.page(w, r)
		return
	}
	h.stream(w, r)
}

// preflight lets pages of other origins send the header that resumes a stream (Fetch Standard,
// 3.2).
func (h *liveHandler) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", h.Origin)
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
	header.Set("Access-Control-Allow-Headers", "Last-Event-ID, Cache-Control, Accept")
	header.Set("Access-Control-Max-Age", "86400")
	header.Set("Allow", "GET, HEAD, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

// subscriptionOf reads which events a request wants, and how.
func subscriptionOf(r *http.Request) (wanted broadcast.Subscription, refused *stream.Refused) {
	query := r.URL.Query()
	wanted.IDs = query.Get("ids") == "1"
	// The header wins, because it is newer: a browser that reconnects sends both.
	text := cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("lastEventId"))
	if !wanted.IDs || text == "" {
		return wanted, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return wanted, stream.InvalidLastEventID.With("%.90q", text)
	}
	wanted.Resume, wanted.After = true, id
	return wanted, nil
}

// asksGzip says whether the query allows compression.
func asksGzip(r *http.Request) bool { return r.URL.Query().Get("gzip") == "1" }

// wantsGzip says whether a request asks for compression by its query and by Accept-Encoding.
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

// refuses says whether a parameter is a quality of 0, or not a number.
func refuses(parameter string) bool {
	value, isQuality := strings.CutPrefix(parameter, "q=")
	quality, err := strconv.ParseFloat(value, 64)
	return isQuality && (err != nil || quality == 0)
}
