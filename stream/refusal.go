package stream

import "github.com/gavel-relay/gavel/internal/refusal"

// Refusal is one reason to refuse a request.
type Refusal = refusal.Refusal

// Refused is the refusal of one request: an error, which every package that refuses returns.
type Refused = refusal.Refused

// Refusals is the catalogue, in the order of docs/stream.md. The variables below are its entries.
// Their HTTP statuses are in stream/api.
var Refusals refusal.Catalogue

// The stream.
var (
	TooManyListeners = Refusals.Define("too-many-listeners", "too many listeners",
		"All places of this stream are taken, or all that one address may have. Come back after the seconds that "+
			"Retry-After says.")
	NotReady = Refusals.Define("not-ready", "not ready",
		"The service is starting or stopping, or the history does not answer.")
	InvalidLastEventID = Refusals.Define("invalid-last-event-id", "invalid last event id",
		"Last-Event-ID is the id of an event that this stream sent with ?ids=1: decimal digits.")
)

// The history.
var (
	InvalidParameter = Refusals.Define("invalid-parameter", "invalid query parameter",
		"The message names it: it is no decimal number between 0 and 2⁶³-1, a start after its end, or a limit that is not "+
			"between 1 and maxLimit. "+
			"A limit above maxLimit is refused and not cut: who adds what was asked for to the offset would miss events.")
	InvalidBody = Refusals.Define("invalid-body", "invalid request body",
		"A POST brings a JSON object of numbers with the names of the query's parameters. A colon at the end of a name is "+
			"passed over.")
	BodyTooLarge = Refusals.Define("body-too-large", "request body is too big",
		"A query needs a few hundred bytes; there is room for 64 KiB.")
	BodyUnreadable = Refusals.Define("body-unreadable", "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	UnsupportedMediaType = Refusals.Define("unsupported-media-type", "unsupported content encoding",
		"Send the body plain or with Content-Encoding gzip.")
	HistoryUnavailable = Refusals.Define("history-unavailable", "the history does not answer",
		"The database is away, or the service is starting. Repeat the request later.")
)

// What every interface refuses.
var (
	NotFound = Refusals.Define("not-found", "no such path",
		"The service answers GET at / (the stream), /api/v1/history and /api/v1/history/info.")
	MethodNotAllowed = Refusals.Define("method-not-allowed", "wrong HTTP method",
		"The Allow header of the answer names the methods that the path knows.")
	// The status is 503 and not 429, because after 429 deployed clients never come back.
	RateLimited = Refusals.Define("rate-limited", "too many requests of this address",
		"This address has used up its allowance. Retry-After says when to go on.")
	Overloaded = Refusals.Define("overloaded", "too many requests at once",
		"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = Refusals.Define("internal", "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
)
