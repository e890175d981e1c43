package serve

import (
	"context"
	"errors"
	"net/http"
)

// StatusClientClosedRequest is the status in logs and metrics for a client that went away before
// its answer, as mev-boost does to the slower relays. It is no failure of the service. The client
// never sees it. Reverse proxies use the same number.
const StatusClientClosedRequest = 499

// clientGone is the refusal of a request whose client has gone.
type clientGone struct{}

// Error implements Refusal.
func (clientGone) Error() string { return "the client went away" }

// HTTPStatus implements Refusal.
func (clientGone) HTTPStatus() int { return StatusClientClosedRequest }

// orClientGone returns the error, or clientGone if the error is the cancellation of a request whose
// client has gone. A server that stops also cancels requests; then the client still waits, and gets
// stopping.
func orClientGone(r *http.Request, err error) error {
	switch {
	case !errors.Is(err, context.Canceled) || r.Context().Err() == nil:
		return err
	case Stopping(r.Context()):
		return stopping{}
	default:
		return clientGone{}
	}
}
