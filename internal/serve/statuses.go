package serve

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/gavel-relay/gavel/internal/refusal"
)

// Statuses says with which HTTP status a product's refusals are answered, by their ids.
type Statuses map[string]int

// Of is a refusal with its status. One that is not in the table is answered as our own fault.
func (s Statuses) Of(refused *refusal.Refused) Refusal {
	return withStatus{refused, cmp.Or(s[refused.ID], http.StatusInternalServerError)}
}

// Refuse is the function Refuse for errors that are, or wrap, a *refusal.Refused.
func (s Statuses) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	err = orClientGone(r, err)
	if refused := (*refusal.Refused)(nil); errors.As(err, &refused) {
		err = s.Of(refused)
	}
	RefuseList(w, err, nil)
}

// Readyz answers 200 while the service can do its work, and otherwise refuses with what ready
// returns. It also refuses, with 503, once the server is told to stop, so that balancers leave
// while it lingers.
func (s Statuses) Readyz(ready func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := ready()
		if Stopping(r.Context()) {
			err = stopping{}
		}
		if err != nil {
			s.Refuse(w, r, err)
			return
		}
		w.WriteHeader(http.StatusOK)
	}
}

// withStatus implements Refusal.
type withStatus struct {
	*refusal.Refused

	status int
}

// HTTPStatus implements Refusal.
func (r withStatus) HTTPStatus() int { return r.status }

// Unwrap returns the refusal without its status.
func (r withStatus) Unwrap() error { return r.Refused }
