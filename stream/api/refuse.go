package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// retrySeconds is what is told with a 503.
const retrySeconds = "5"

// Refuse answers with an error as this interface does. One that is no refusal is our own fault:
// 500, and its text stays inside.
func Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	refused := (*stream.Refused)(nil)
	if !errors.As(err, &refused) {
		refused = stream.Internal.Plain()
	}
	status := Statuses[refused.ID]
	serve.Named(w, refused.ID)
	if status >= http.StatusInternalServerError {
		serve.Blame(w, err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retrySeconds)
	}
	raw, err := json.Marshal(map[string]string{"error": refused.Error()})
	if err != nil { // text always marshals
		raw = []byte(`{"error":"internal error"}`)
	}
	serve.Bytes(w, status, "application/json", raw)
}

// storage is an error of the port. Whatever it is, the request may succeed later.
func storage(err error) error {
	if refused := (*stream.Refused)(nil); errors.As(err, &refused) {
		return err
	}
	return errors.Join(stream.HistoryUnavailable.Plain(), err)
}

// refuseListener says no. Who finds no place, or a service that is not ready, is told to come
// again.
func refuseListener(w http.ResponseWriter, r *http.Request, err error) {
	var refused *stream.Refused
	if errors.As(err, &refused) && Statuses[refused.ID] == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryListen))
	}
	if unexpected(err) {
		serve.Blame(w, err)
	}
	Statuses.Refuse(w, r, err)
}

// unexpected says whether an end is our own fault.
func unexpected(err error) bool { return errors.Is(err, broadcast.ErrHistory) }
