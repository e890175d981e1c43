package admin

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

// state is the kill switch's.
type state struct {
	On bool `json:"on"`
}

// killSwitch says whether the kill switch is on: then no headers are served, and payloads of served
// ones still are.
func (a *skin) killSwitch(w http.ResponseWriter, r *http.Request) {
	serve.JSON(w, r, http.StatusOK, state{a.Switch.On()})
}

// setKillSwitch turns it on or off and answers with its state.
func (a *skin) setKillSwitch(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		On  *bool  `json:"on"`
		Why string `json:"why"`
	}
	if refused := read(w, r, &wanted); refused != nil {
		api.Refuse(w, r, refused)
		return
	}
	if wanted.On == nil {
		api.Refuse(w, r, relay.Malformed.With(`say {"on": true} or {"on": false}`))
		return
	}
	a.Switch.Set(a.Clock.Now(), *wanted.On, wanted.Why)
	if a.keep(w, r) {
		a.killSwitch(w, r)
	}
}
