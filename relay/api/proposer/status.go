package proposer

import (
	"net/http"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

// status answers 200 with an empty body while the relay can serve proposers (builder-specs,
// status).
func (a *handlers) status(w http.ResponseWriter, r *http.Request) {
	if !a.Ready() {
		api.Refuse(w, r, relay.NotReady.Plain())
		return
	}
	w.WriteHeader(http.StatusOK)
}
