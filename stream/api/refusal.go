package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// Statuses has the HTTP status of each refusal of the stream.
var Statuses = serve.Statuses{
	// The stream.
	stream.TooManyListeners.ID:   http.StatusServiceUnavailable,
	stream.NotReady.ID:           http.StatusServiceUnavailable,
	stream.InvalidLastEventID.ID: http.StatusBadRequest,

	// The history.
	stream.InvalidParameter.ID:     http.StatusBadRequest,
	stream.InvalidBody.ID:          http.StatusBadRequest,
	stream.BodyTooLarge.ID:         http.StatusRequestEntityTooLarge,
	stream.BodyUnreadable.ID:       http.StatusBadRequest,
	stream.UnsupportedMediaType.ID: http.StatusUnsupportedMediaType,
	stream.HistoryUnavailable.ID:   http.StatusServiceUnavailable,

	// What every interface refuses.
	stream.NotFound.ID:         http.StatusNotFound,
	stream.MethodNotAllowed.ID: http.StatusMethodNotAllowed,
	stream.RateLimited.ID:      http.StatusServiceUnavailable,
	stream.Overloaded.ID:       http.StatusServiceUnavailable,
	stream.Internal.ID:         http.StatusInternalServerError,
}
