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

// retrySeconds is the Retry-After of an answer with 503.
const retrySeconds = "5"

// Refuse answers with an error in this interface's form, {"error":"…"}. An error that is no refusal
// is an internal one: the status is 500, and its text is logged and not sent.
func Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	refused := (*stream.Refused)(nil)
	if !errors.As(err, &refused) {
		refused = stream.Internal.Plain()
	}
	status := Statuses[refused.ID]
	serve.Named(w, refused.ID)
	if status >= http.StatusInternalServerError {
		serve.SetCause(w, err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retrySeconds)
	}
	raw, err := json.Marshal(map[string]string{"error": refused.Error()})
	if err != nil { // strings always marshal
		raw = []byte(`{"error":"internal error"}`)
	}
	serve.Bytes(w, status, "application/json", raw)
}

// storage makes an error of History a refusal. Whatever it is, the request may succeed later.
func storage(err error) error {
	if refused := (*stream.Refused)(nil); errors.As(err, &refused) {
		return err
	}
	return errors.Join(stream.HistoryUnavailable.Plain(), err)
}

// refuseListener refuses a listener. If there is no place, or the service is not ready, the answer
// has a Retry-After.
func refuseListener(w http.ResponseWriter, r *http.Request, err error) {
	var refused *stream.Refused
	if errors.As(err, &refused) && Statuses[refused.ID] == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryListen))
	}
	if unexpected(err) {
		serve.SetCause(w, err)
	}
	Statuses.Refuse(w, r, err)
}

// unexpected says whether the history's failure ended a stream; other ends are usual.
func unexpected(err error) bool { return errors.Is(err, broadcast.ErrHistory) }
