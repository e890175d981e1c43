package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

func (h *historyHandler) get(w http.ResponseWriter, r *http.Request) error {
	q, err := h.readQuery(r)
	if err != nil {
		return err
	}
	return h.page(w, r, q)
}

func (h *historyHandler) post(w http.ResponseWriter, r *http.Request) error {
	q, err := h.readBody(w, r)
	if err != nil {
		return err
	}
	return h.page(w, r, q)
}

// page answers with a query's events, each with its JSON as it was streamed.
func (h *historyHandler) page(w http.ResponseWriter, r *http.Request, q stream.Query) error {
	select {
	case h.pages <- struct{}{}:
		defer func() { <-h.pages }()
	case <-r.Context().Done():
		return storage(context.Cause(r.Context()))
	}
	events, err := h.History.Page(r.Context(), q)
	if err != nil {
		return storage(err)
	}
	serve.Bytes(w, http.StatusOK, "application/json", appendPage(nil, events))
	return nil
}

// appendPage writes a list of events. An empty list is [], because null breaks some clients.
func appendPage(to []byte, events []stream.Event) []byte {
	to = append(to, '[')
	for i, event := range events {
		if i > 0 {
			to = append(to, ',')
		}
		to = strconv.AppendUint(append(to, `{"block":`...), event.Block, 10)
		to = strconv.AppendInt(append(to, `,"timestamp":`...), event.At.Unix(), 10)
		to = append(append(append(to, `,"hint":`...), event.JSON...), '}')
	}
	return append(to, ']')
}
