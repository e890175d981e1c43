package serve

import (
	"context"
	"errors"
	"net/http"
)

// StatusClientClosedRequest is what is logged and counted for a client that went away before its
// answer, as sidecars do to the slower relays: it is nobody's failure. The client never sees it.
// The number is the one that reverse proxies use.
const StatusClientClosedRequest = 499

// clientGone is the refusal of a request that nobody waits for any more.
type clientGone struct{}

// Error implements Refusal.
func (clientGone) Error() string { return "the client went away" }

// HTTPStatus implements Refusal.
func (clientGone) HTTPStatus() int { return StatusClientClosedRequest }

// orClientGone is the error, unless it is the end of a request whose client has gone. A server that
// stops ends requests too: then somebody waits, and is told so.
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
