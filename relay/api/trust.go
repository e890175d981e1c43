package api

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// reasonBody is why the operator makes a change.
type reasonBody struct {
	Why string `json:"why"`
}

// promote gives a builder the optimistic mode and answers with its record.
func (a *adminHandlers) promote(w http.ResponseWriter, r *http.Request) {
	a.trust(w, r, a.Trust.Promote)
}

// suspend ends the optimistic mode of a builder and answers with its record.
func (a *adminHandlers) suspend(w http.ResponseWriter, r *http.Request) {
	a.trust(w, r, a.Trust.Suspend)
}

func (a *adminHandlers) trust(w http.ResponseWriter, r *http.Request, do func(time.Time, string, string) error) {
	var given reasonBody
	if refused := readExact(w, r, &given); refused != nil {
		Refuse(w, r, refused)
		return
	}
	name := r.PathValue("name")
	if _, known := a.Records.Named(name); !known {
		Refuse(w, r, relay.BuilderUnknown.With("%.90q", name))
		return
	}
	if err := do(a.Clock.Now(), name, given.Why); err != nil {
		Refuse(w, r, relay.BuilderInvalid.With("%v", err))
		return
	}
	if a.keep(w, r) {
		a.builder(w, r)
	}
}
