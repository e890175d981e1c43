package serve

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Refusal is an error with the HTTP status of its answer. Its text is the answer's message.
type Refusal interface {
	error
	HTTPStatus() int
}

// body is the body of every error answer (builder-specs, "ErrorMessage").
type body struct {
	Code     int       `json:"code"`
	Message  string    `json:"message"`
	Failures []Failure `json:"failures,omitempty"`
}

// internal is the id in every catalogue for errors of the service itself.
const internal = "internal"

// Failure is one refused entry of a list (beacon-APIs, "IndexedError").
type Failure struct {
	Index   int    `json:"index"`
	Message string `json:"message"`
}

// Refuse answers with an error. An error that is no Refusal is an internal one: the status is 500,
// and its text is logged and not sent. An error with a RefusalID is counted by the watcher under
// that id. For a client that went away the status is StatusClientClosedRequest.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	RefuseList(w, orClientGone(r, err), nil)
}

// RefuseList answers with an error and the refused entries of a list.
func RefuseList(w http.ResponseWriter, err error, failures []Failure) {
	answer := body{Code: http.StatusInternalServerError, Message: "internal error", Failures: failures}
	known := Refusal(nil)
	if errors.As(err, &known) {
		answer.Code, answer.Message = known.HTTPStatus(), known.Error()
	}
	if named, has := known.(interface{ RefusalID() string }); has {
		Named(w, named.RefusalID())
	} else if known == nil {
		SetCause(w, err)
		w.Header().Set(RefusalHeader, internal)
	}
	raw, err := json.Marshal(answer)
	if err != nil { // strings and numbers always marshal
		raw = []byte(`{"code":500,"message":"internal error"}`)
	}
	Bytes(w, answer.Code, "application/json", raw)
}

// Header values that most answers have, made once and never changed.
var (
	nosniff   = []string{"nosniff"}
	usualType = map[string][]string{"application/json": {"application/json"},
		"application/octet-stream": {"application/octet-stream"}}
)

// Bytes answers with a finished body.
func Bytes(w http.ResponseWriter, status int, contentType string, raw []byte) {
	header := w.Header()
	if usual, ok := usualType[contentType]; ok {
		header["Content-Type"] = usual
	} else {
		header.Set("Content-Type", contentType)
	}
	header["X-Content-Type-Options"] = nosniff
	w.WriteHeader(status)
	_, _ = w.Write(raw) // fails only when the client is gone
}

// JSON answers with a value.
func JSON(w http.ResponseWriter, r *http.Request, status int, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	Bytes(w, status, "application/json", raw)
}
