package serve

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/gavel-relay/gavel/internal/refusal"
)

// Statuses has the HTTP statuses of a service's refusals, by their ids.
type Statuses map[string]int

// Of is a refusal with its status. A refusal that is not in the table has status 500.
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

// Readyz answers 200 while the service can do its work, and otherwise refuses with the error of
// ready. It also refuses, with 503, while the server lingers before it stops, so that load
// balancers send their clients elsewhere.
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
