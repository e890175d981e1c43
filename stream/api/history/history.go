// Package history is the HTTP skin of what was streamed before (interface description, "History
// API"): it reads queries, asks a port and writes answers.
//
//	GET  /api/v1/history/info                     info.go
//	GET  /api/v1/history?blockStart=…&limit=…     page.go, query.go
//	POST /api/v1/history {"blockStart":…}         the same, as one client sends it
//
// Refusals are {"error":"…"}, and name what is wrong. Pages of any origin may ask.
package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// Past is the history. Errors are about the storage itself.
type Past interface {
	// Info costs nothing.
	Info() (stream.Info, error)
	// Page is what a query asks for, ascending by id, and never more than its limit.
	Page(ctx context.Context, q stream.Query) ([]stream.Event, error)
}

// Config is what the skin needs.
type Config struct {
	Past Past
	// MaxLimit is how many events a page has at most, and by default: 500. There are clients that take
	// a shorter page for the last one.
	MaxLimit int
	// Origin is what Access-Control-Allow-Origin says: *.
	Origin string
}

// pagesAtOnce bounds how many pages are in memory; others wait.
const pagesAtOnce = 16

// Mount adds the operations to a mux.
func Mount(mux *serve.Mux, c Config) {
	s := &skin{Config: c, pages: make(chan struct{}, pagesAtOnce)}
	s.MaxLimit = cmp.Or(s.MaxLimit, 500)
	s.Origin = cmp.Or(s.Origin, "*")
	for path, operations := range map[string]map[string]operation{
		"/api/v1/history":      {http.MethodGet: s.get, http.MethodPost: s.post, http.MethodOptions: s.preflight},
		"/api/v1/history/info": {http.MethodGet: s.info, http.MethodOptions: s.preflight},
	} {
		for method, do := range operations {
			mux.Handle(method, path, s.answering(do))
		}
	}
}

type skin struct {
	Config
	pages chan struct{} // has a place for each page that is being made
}

// operation answers, or says why not.
type operation func(w http.ResponseWriter, r *http.Request) error

func (s *skin) answering(do operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", s.Origin)
		if err := do(w, r); err != nil {
			Refuse(w, r, err)
		}
	}
}

// preflight lets pages of other origins ask (Fetch Standard, 3.2).
func (s *skin) preflight(w http.ResponseWriter, _ *http.Request) error {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	header.Set("Access-Control-Allow-Headers", "Content-Type, Accept, Cache-Control")
	header.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// retrySeconds is what is told with a 503.
const retrySeconds = "5"

// Refuse answers with an error as this interface does. One that is no refusal is our own fault:
// 500, and its text stays inside.
func Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	refused := (*stream.Refused)(nil)
	if !errors.As(err, &refused) {
		refused = stream.Internal.Plain()
	}
	serve.Named(w, refused.ID)
	if refused.Status >= http.StatusInternalServerError {
		serve.Blame(w, err)
	}
	if refused.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retrySeconds)
	}
	raw, err := json.Marshal(map[string]string{"error": refused.Error()})
	if err != nil { // text always marshals
		raw = []byte(`{"error":"internal error"}`)
	}
	serve.Bytes(w, refused.Status, "application/json", raw)
}

// storage is an error of the port. Whatever it is, the request may succeed later.
func storage(err error) error {
	if refused := (*stream.Refused)(nil); errors.As(err, &refused) {
		return err
	}
	return errors.Join(stream.HistoryUnavailable.Plain(), err)
}
