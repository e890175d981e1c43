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

// Broadcast is where the events are heard.
type Broadcast interface {
	// Listen joins; whoever joins must leave. Refusals are *stream.Refused.
	Listen(ctx context.Context, wanted broadcast.Subscription) (*broadcast.Listener, error)
	// Recent are the last events, oldest first.
	Recent() []stream.Event
}

// LiveConfig is what the handlers need.
type LiveConfig struct {
	Broadcast Broadcast
	// Ping is how long a connection is silent before a ping: 15 h.
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

// MountLive adds the stream to a mux.
func MountLive(mux *serve.Mux, c LiveConfig) {
	h := &liveHandler{c}
	h.Ping = cmp.Or(h.Ping, 15*time.Second)
	h.Origin = cmp.Or(h.Origin, "*")
	mux.Handle(http.MethodGet, "/{$}", h.root)
	mux.Handle(http.MethodOptions, "/{$}", h.preflight)
}

type liveHandler struct{ LiveConfig }

// root answers with the stream, unless somebody would rather have a page to look at.
func (h *liveHandler) root(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", h.Origin)
	header.Set("Vary", "Accept")
	if asksGzip(r) {
		header.Set("Vary", "Accept, Accept-Encoding")
	}
	// What fits neither is answered with the stream: there are clients that a refusal would stop for
	// good.
	if media, _ := serve.Negotiate(r, "text/event-stream", "text/html"); media == "text/html" {
		h.page(w, r)
		return
	}
	h.stream(w, r)
}

// preflight lets pages of other origins send what resumes a stream (Fetch Standard, 3.2).
func (h *liveHandler) preflight(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", h.Origin)
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
	header.Set("Access-Control-Allow-Headers", "Last-Event-ID, Cache-Control, Accept")
	header.Set("Access-Control-Max-Age", "86400")
	header.Set("Allow", "GET, HEAD, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

// subscriptionOf reads what a request wants to hear.
func subscriptionOf(r *http.Request) (wanted broadcast.Subscription, refused *stream.Refused) {
	query := r.URL.Query()
	wanted.IDs = query.Get("ids") == "1"
	// the header is newer: a browser sends both when it comes back
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
