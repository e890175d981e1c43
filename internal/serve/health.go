package serve

import "net/http"

// Livez answers 200 for as long as the process can answer at all.
func Livez(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// Readyz answers 200 while the service can do its work, and otherwise refuses with what ready returns.
func Readyz(ready func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := ready(); err != nil {
			Refuse(w, r, err)
			return
		}
		w.WriteHeader(http.StatusOK)
	}
}
