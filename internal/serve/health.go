package serve

import "net/http"

// Livez answers 200 for as long as the process can answer at all.
func Livez(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// stopping is the refusal of a server that is about to stop.
type stopping struct{}

// Error implements Refusal.
func (stopping) Error() string { return "stopping" }

// HTTPStatus implements Refusal.
func (stopping) HTTPStatus() int { return http.StatusServiceUnavailable }
