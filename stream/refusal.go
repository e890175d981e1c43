package stream

import "fmt"

// Refusal is one way of saying no. The catalogue below is the only place where they are made: an id
// is the metric label, the log field and the row in docs/stream.md.
type Refusal struct {
	ID string
	// Status is the HTTP status of the answer.
	Status int
	// Short is the message in the answer.
	Short string
	// Long says what the caller should look at.
	Long string
}

// Refused is a refusal of one request, with what was seen. It is an error; every room that refuses
// returns it.
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

// Of refuses something that has a name, which comes before the detail.
func (r Refusal) Of(name, format string, args ...any) *Refused {
	refused := r.With(format, args...)
	refused.Short += " " + name
	return refused
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
		"All places of this stream are taken, or all that one address may have. Come back after the seconds that "+
			"Retry-After says.")
	NotReady = define("not-ready", 503, "not ready",
		"The service is starting or stopping, or the history does not answer.")
	InvalidLastEventID = define("invalid-last-event-id", 400, "invalid last event id",
		"Last-Event-ID is the id of an event that this stream sent with ?ids=1: decimal digits.")
)

// The history.
var (
	InvalidParameter = define("invalid-parameter", 400, "invalid query parameter",
		"The message names it: it is no decimal number between 0 and 2⁶³-1, a start after its end, or a limit that is not "+
			"between 1 and maxLimit. "+
			"A limit above maxLimit is refused and not cut: who adds what was asked for to the offset would miss events.")
	InvalidBody = define("invalid-body", 400, "invalid request body",
		"A POST brings a JSON object of numbers with the names of the query's parameters. A colon at the end of a name is "+
			"passed over.")
	BodyTooLarge = define("body-too-large", 413, "request body is too big",
		"A query needs a few hundred bytes; there is room for 64 KiB.")
	BodyUnreadable = define("body-unreadable", 400, "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	UnsupportedMediaType = define("unsupported-media-type", 415, "unsupported content encoding",
		"Send the body plain or with Content-Encoding gzip.")
	HistoryUnavailable = define("history-unavailable", 503, "the history does not answer",
		"The database is away, or the service is starting. Repeat the request later.")
)

// What every interface refuses.
var (
	NotFound = define("not-found", 404, "no such path",
		"The service answers GET at / (the stream), /api/v1/history and /api/v1/history/info.")
	MethodNotAllowed = define("method-not-allowed", 405, "wrong HTTP method",
		"The Allow header of the answer names the methods that the path knows.")
	// 503 and not 429, after which deployed clients never come back.
	RateLimited = define("rate-limited", 503, "too many requests of this address",
		"This address has used up its allowance. Retry-After says when to go on.")
	Overloaded = define("overloaded", 503, "too many requests at once",
		"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = define("internal", 500, "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
)
