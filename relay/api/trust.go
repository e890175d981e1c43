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
	if err := a.changeTrust(a.Clock.Now(), r.PathValue("name"), given.Why, do); err != nil {
		Refuse(w, r, err)
		return
	}
	if a.keep(w, r) {
		a.builder(w, r)
	}
}

// changeTrust starts or ends a builder's optimistic mode. Its error is a refusal.
func (a *adminHandlers) changeTrust(at time.Time, name, why string,
	do func(at time.Time, name, why string) error) error {
	if _, known := a.Records.Named(name); !known {
		return relay.BuilderUnknown.With("%.90q", name)
	}
	if err := do(at, name, why); err != nil {
		return relay.BuilderInvalid.With("%v", err)
	}
	return nil
}
