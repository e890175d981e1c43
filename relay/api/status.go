package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/relay"
)

// status answers 200 with an empty body while the relay can serve proposers (builder-specs,
// status).
func (a *proposerHandlers) status(w http.ResponseWriter, r *http.Request) {
	if !a.Ready() {
		Refuse(w, r, relay.NotReady.Plain())
		return
	}
	w.WriteHeader(http.StatusOK)
}
