package serve

import "net/http"

// Livez answers 200 for as long as the process can answer at all.
func Livez(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// Readyz answers 200 while the service can do its work, and otherwise refuses with what ready
// returns. It also refuses, with 503, once the server is told to stop, so that balancers leave
// while it lingers.
func Readyz(ready func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := ready()
		if Stopping(r.Context()) {
			err = stopping{}
		}
		if err != nil {
			Refuse(w, r, err)
			return
		}
		w.WriteHeader(http.StatusOK)
	}
}

// stopping is the refusal of a server that lingers.
type stopping struct{}

// Error implements Refusal.
func (stopping) Error() string { return "stopping" }

// HTTPStatus implements Refusal.
func (stopping) HTTPStatus() int { return http.StatusServiceUnavailable }
