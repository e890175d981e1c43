package stream

import "fmt"

// Refusal is one way of saying no. The catalogue below is the only place where they are made: an id is the metric label, the log field and the row
// in docs/stream.md.
type Refusal struct {
	ID string
	// Status is the HTTP status of the answer.
	Status int
	// Short is the message in the answer.
	Short string
	// Long says what the caller should look at.
	Long string
}

// Refused is a refusal of one request, with what was seen. It is an error; every room that refuses returns it.
type Refused struct {
	Refusal
	// Detail is appended to the short text: what came and what was expected. It never holds internals.
	Detail string
}

// Error is the message of the answer.
func (r *Refused) Error() string {
	if r.Detail == "" {
		return r.Short
	}
	return r.Short + ": " + r.Detail
}

// With refuses with a detail.
func (r Refusal) With(format string, args ...any) *Refused {
	return &Refused{Refusal: r, Detail: fmt.Sprintf(format, args...)}
}

// Plain refuses without a detail.
func (r Refusal) Plain() *Refused { return &Refused{Refusal: r} }

// HTTPStatus is the status of the answer.
func (r *Refused) HTTPStatus() int { return r.Status }

// RefusalID names the refusal in metrics and logs.
func (r *Refused) RefusalID() string { return r.ID }

// Refusals is the catalogue, in the order of the docs. define appends to it.
var Refusals []Refusal

func define(id string, status int, short, long string) Refusal {
	r := Refusal{ID: id, Status: status, Short: short, Long: long}
	Refusals = append(Refusals, r)
	return r
}

// The stream.
var (
	TooManyListeners = define("too-many-listeners", 503, "too many listeners",
		"All places of this stream are taken. Come back after the seconds that Retry-After says.")
	NotReady = define("not-ready", 503, "not ready",
		"The service is starting or stopping, or the history does not answer.")
	InvalidLastEventID = define("invalid-last-event-id", 400, "invalid last event id",
		"Last-Event-ID is the id of an event that this stream sent with ?ids=1: decimal digits.")
)
