package proposer

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// status answers 200 with an empty body while the relay can serve proposers (builder-specs,
// status).
func (a *skin) status(w http.ResponseWriter, r *http.Request) {
	if !a.Ready() {
		serve.Refuse(w, r, relay.NotReady.Plain())
		return
	}
	w.WriteHeader(http.StatusOK)
}
