package admin

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

// reason is why the operator makes a change.
type reason struct {
	Why string `json:"why"`
}

// promote gives a builder the optimistic mode and answers with its record.
func (a *handlers) promote(w http.ResponseWriter, r *http.Request) { a.trust(w, r, a.Trust.Promote) }

// suspend ends the optimistic mode of a builder and answers with its record.
func (a *handlers) suspend(w http.ResponseWriter, r *http.Request) { a.trust(w, r, a.Trust.Suspend) }

func (a *handlers) trust(w http.ResponseWriter, r *http.Request, do func(time.Time, string, string) error) {
	var given reason
	if refused := read(w, r, &given); refused != nil {
		api.Refuse(w, r, refused)
		return
	}
	name := r.PathValue("name")
	if _, known := a.Records.Named(name); !known {
		api.Refuse(w, r, relay.BuilderUnknown.With("%.90q", name))
		return
	}
	if err := do(a.Clock.Now(), name, given.Why); err != nil {
		api.Refuse(w, r, relay.BuilderInvalid.With("%v", err))
		return
	}
	if a.keep(w, r) {
		a.builder(w, r)
	}
}
