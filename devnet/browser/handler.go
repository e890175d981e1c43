package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/sse"
)

// Bounds of those who watch.
const (
	mostViewers = 64
	// pause is the least time between two looks at the run, so that a viewer gets what changes often
	// only so often. ping is how long a connection is silent at most.
	pause, ping = 300 * time.Millisecond, 15 * time.Second
)

// problem is an answer that is no page.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// HTTPStatus implements serve.Refusal.
func (p problem) HTTPStatus() int { return p.status }

// Handler answers the requests of browsers.
func (b *Board) Handler() http.Handler {
	mux := &serve.Mux{NotFound: problem{http.StatusNotFound, "there is no such page"},
		NotAllowed: problem{http.StatusMethodNotAllowed, "the page can only be read"}}
	mux.Handle(http.MethodGet, "/{$}", func(w http.ResponseWriter, r *http.Request) { b.answer(w, r, true) })
	mux.Handle(http.MethodGet, "/run.html", func(w http.ResponseWriter, r *http.Request) { b.answer(w, r, false) })
	mux.Handle(http.MethodGet, "/live", b.follow)
	return mux
}

// policy allows a page its own style and script, and to follow its own origin.
var policy = serve.PagePolicy(timeline.Style, timeline.Script, "'none'")

func (b *Board) answer(w http.ResponseWriter, r *http.Request, live bool) {
	raw, err := b.page(live)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(raw)))
	if !live {
		header.Set("Content-Disposition", `attachment; filename="run.html"`)
	}
	serve.Bytes(w, http.StatusOK, "text/html; charset=utf-8", raw)
}

// enter takes a viewer's place; false if there is none.
func (b *Board) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.viewers >= mostViewers {
		return false
	}
	b.viewers++
	return true
}

func (b *Board) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.viewers--
}

// seen reads the version of the page that a viewer has: that of the last event, or of the page.
func seen(r *http.Request) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, problem{http.StatusBadRequest, fmt.Sprintf("after is %.30q: give a whole number", text)}
	}
	return version, nil
}

// follow sends the parts of the page that change, until the run is over.
func (b *Board) follow(w http.ResponseWriter, r *http.Request) {
	version, err := seen(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	if !b.enter() {
		w.Header().Set("Retry-After", "10")
		serve.Refuse(w, r, problem{http.StatusServiceUnavailable, "too many browsers watch this run"})
		return
	}
	defer b.leave()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	connection := http.NewResponseController(w)
	for more := true; more; {
		raw := []byte(":\n\n")
		var n news
		if n, err = b.since(version); err == nil {
			raw, err = n.append(raw)
		}
		if err != nil {
			serve.SetCause(w, err)
			return
		}
		if _, err := w.Write(raw); err != nil || connection.Flush() != nil {
			return // the viewer is gone
		}
		version = n.version
		more = n.over == "" && wait(r.Context(), n.changed)
	}
}

// append appends what viewers are sent.
func (n *news) append(to []byte) ([]byte, error) {
	for i, one := range n.parts {
		raw, err := json.Marshal(one)
		if err != nil {
			return to, fmt.Errorf("encode a part: %w", err)
		}
		event := sse.Event{Type: "part", Data: raw}
		if i == len(n.parts)-1 { // who lost the connection before gets all of them again
			event.ID = strconv.FormatUint(n.version, 10)
		}
		to = sse.Append(to, event)
	}
	if n.over != "" {
		raw, err := json.Marshal(n.over)
		if err != nil {
			return to, fmt.Errorf("encode the end: %w", err)
		}
		to = sse.Append(to, sse.Event{Type: "over", Data: raw})
	}
	return to, nil
}

// wait waits for the next change, at most until it is time to show that the connection lives, but
// no shorter than the pause. False means that the viewer or the server is going.
func wait(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-time.After(ping):
	}
	return true
}
