package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// killSwitchState is the state of the kill switch.
type killSwitchState struct {
	On bool `json:"on"`
}

// killSwitch answers whether the kill switch is on. While it is, no headers are served, but
// payloads of headers that were served before are still delivered.
func (a *adminHandlers) killSwitch(w http.ResponseWriter, r *http.Request) {
	serve.JSON(w, r, http.StatusOK, killSwitchState{a.Switch.On()})
}

// setKillSwitch turns the kill switch on or off and answers with its state.
func (a *adminHandlers) setKillSwitch(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		On  *bool  `json:"on"`
		Why string `json:"why"`
	}
	if refused := readExact(w, r, &wanted); refused != nil {
		Refuse(w, r, refused)
		return
	}
	if wanted.On == nil {
		Refuse(w, r, relay.Malformed.With(`say {"on": true} or {"on": false}`))
		return
	}
	a.Switch.Set(a.Clock.Now(), *wanted.On, wanted.Why)
	if a.keep(w, r) {
		a.killSwitch(w, r)
	}
}
