package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// History is the history's storage. Its errors are about the storage, never about the query.
type History interface {
	// Info is what the history has. It is answered from memory.
	Info() (stream.Info, error)
	// Page returns the events that a query asks for, ascending by id, and at most its limit.
	Page(ctx context.Context, q stream.Query) ([]stream.Event, error)
}

// HistoryConfig is what the history's handlers need.
type HistoryConfig struct {
	History History
	// MaxLimit is how many events a page has at most, and by default; 0 is 500. Pages are as long
	// as they may be, because some clients take a shorter page for the last one.
	MaxLimit int
	// Origin is the value of Access-Control-Allow-Origin; empty is *.
	Origin string
}

// pagesAtOnce bounds how many pages are in memory at once; other requests wait.
const pagesAtOnce = 16

// MountHistory adds the operations of the history to a mux.
func MountHistory(mux *serve.Mux, c HistoryConfig) {
	h := &historyHandler{HistoryConfig: c, pages: make(chan struct{}, pagesAtOnce)}
	h.MaxLimit = cmp.Or(h.MaxLimit, 500)
	h.Origin = cmp.Or(h.Origin, "*")
	for path, operations := range map[string]map[string]operation{
		"/api/v1/history":      {http.MethodGet: h.get, http.MethodPost: h.post, http.MethodOptions: h.preflight},
		"/api/v1/history/info": {http.MethodGet: h.info, http.MethodOptions: h.preflight},
	} {
		for method, do := range operations {
			mux.Handle(method, path, h.answering(do))
		}
	}
}

type historyHandler struct {
	HistoryConfig
	pages chan struct{} // holds a token for each page that is being made
}

// operation answers a request, or returns a refusal or an error.
type operation func(w http.ResponseWriter, r *http.Request) error

func (h *historyHandler) answering(do operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", h.Origin)
		w.Header().Set("Access-Control-Expose-Headers", serve.RefusalHeader)
		if err := do(w, r); err != nil {
			Refuse(w, r, err)
		}
	}
}

// preflight allows requests by pages of other origins (Fetch Standard, 3.2).
func (h *historyHandler) preflight(w http.ResponseWriter, _ *http.Request) error {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	header.Set("Access-Control-Allow-Headers", "Content-Type, Accept, Cache-Control")
	header.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
