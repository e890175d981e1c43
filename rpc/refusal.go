package rpc

import "fmt"

// Refusal is one way of saying no. The catalogue below is the only place where they are made: an id
// is the metric label, the log field, the row in docs/rpc.md and the word that a scenario expects.
type Refusal struct {
	ID string
	// Code is the JSON-RPC error's code, Status the HTTP status of a request that this refusal answers
	// as a whole.
	Code, Status int
	// Short is the message in the answer.
	Short string
	// Long says what the caller should look at.
	Long string
}

// Refused is a refusal of one request, with what was seen. It is an error; every room that refuses
// returns it.
type Refused struct {
	Refusal
	// Detail is appended to the short text: what came and what was expected, with the path of the
	// field. It never holds internals.
	Detail string
	// Data is the error object's data, if any.
	Data any
}

// Error is the message of the answer.
func (r *Refused) Error() string {
	if r.Detail == "" {
		return r.Short
	}
	return r.Short + ": " + r.Detail
}

// With refuses with a detail; with no format there is none.
func (r Refusal) With(format string, args ...any) *Refused {
	return &Refused{Refusal: r, Detail: fmt.Sprintf(format, args...)}
}

// Plain refuses without a detail.
func (r Refusal) Plain() *Refused { return &Refused{Refusal: r} }

// HTTPStatus is the status of a request that the refusal answers as a whole.
func (r *Refused) HTTPStatus() int { return r.Status }

// RPCCode is the code of the JSON-RPC error.
func (r *Refused) RPCCode() int { return r.Code }

// RefusalID names the refusal in metrics and logs.
func (r *Refused) RefusalID() string { return r.ID }

// RPCData is the data of the JSON-RPC error, nil for none.
func (r *Refused) RPCData() any { return r.Data }

// Refusals is the catalogue, in the order of the docs. define appends to it.
var Refusals []Refusal

func define(id string, code, status int, short, long string) Refusal {
	r := Refusal{ID: id, Code: code, Status: status, Short: short, Long: long}
	Refusals = append(Refusals, r)
	return r
}

// Codes of JSON-RPC 2.0 and of the services that clients know.
const (
	codeParse         = -32700
	codeRequest       = -32600
	codeMethod        = -32601
	codeParams        = -32602
	codeInternal      = -32603
	codeServer        = -32000
	codeLimitExceeded = -32005
	codeSignature     = -32025
)

// The envelope.
var (
	ParseError = define("parse-error", codeParse, 200, "parse error",
		"The body is not JSON, or not a JSON-RPC 2.0 request: jsonrpc must be \"2.0\", id a number, a string or null.")
	InvalidRequest = define("invalid-request", codeRequest, 200, "invalid request",
		"The body is JSON, but not a request: an object with method and params, or a list of at most as many as the batch "+
			"limit.")
	BodyTooLarge = define("body-too-large", codeRequest, 413, "request body is too big",
		"The body, after decompression, exceeds the limit of this service.")
	BodyUnreadable = define("body-unreadable", codeRequest, 400, "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	UnsupportedMediaType = define("unsupported-media-type", codeRequest, 415, "unsupported content type",
		"Send application/json, plain or with Content-Encoding gzip.")
	NotFound = define("not-found", codeRequest, 404, "no such path",
		"The service answers POST at /.")
	MethodNotAllowed = define("method-not-allowed", codeRequest, 405, "wrong HTTP method",
		"The Allow header of the answer names the methods that the path knows.")
	MethodNotFound = define("method-not-found", codeMethod, 200, "method not found",
		"No such method. GET /openrpc.json lists all.")
	InvalidParams = define("invalid-params", codeParams, 200, "invalid params",
		"A parameter is missing or has the wrong form; the message has the path of the field.")
	RateLimited = define("rate-limited", codeLimitExceeded, 429, "rate limit exceeded",
		"Come back after the seconds that Retry-After says. X-RateLimit-Limit and X-RateLimit-Remaining tell the allowance.")
	Overloaded = define("overloaded", codeLimitExceeded, 503, "too many requests at once",
		"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = define("internal", codeInternal, 200, "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
)

// The signature. The detail says which step failed.
var (
	SignatureMissing = define("signature-missing", codeRequest, 403, "signature is required",
		"Sign the request: header X-Flashbots-Signature with <address>:<signature>.")
	SignatureMalformed = define("signature-malformed", codeSignature, 403, "invalid signature header",
		"The header must be an address of 20 bytes, a colon and a signature of 65 bytes (r, s, v with v 0, 1, 27 or 28, "+
			"low s), both in hex.")
	SignatureMismatch = define("signature-mismatch", codeSignature, 403, "invalid signature",
		"The signature recovers to another address than the header's. Sign, by personal message (EIP-191), the text 0x… "+
			"of the Keccak-256 of exactly "+
			"the bytes of the body: 66 characters, lower case.")
)

// Bundles.
var (
	BundleUndecodable = define("bundle-undecodable", codeServer, 200, "unable to decode bundle",
		"A transaction is not what a node would take: not hex, not RLP, a bad signature or another chain.")
	BundleEmpty = define("bundle-empty", codeServer, 200, "bundle missing txs",
		"A bundle needs at least one transaction. With a replacementUuid an empty one cancels.")
	BundleTooManyTxs = define("bundle-too-many-txs", codeServer, 200, "too many txs in bundle",
		"At most 100 transactions with eth_sendBundle and eth_callBundle, 50 with mev_sendBundle and mev_simBundle.")
	BundleTooLarge = define("bundle-too-large", codeServer, 200, "bundle too large",
		"At most 300,000 bytes in all, counted as raw transactions.")
	BundleMissingBlock = define("bundle-missing-block", codeServer, 200, "bundle missing blockNumber",
		"eth_callBundle needs the block that it is simulated for.")
	BundleVersion = define("bundle-version", codeServer, 200, "unsupported bundle version",
		"mev_sendBundle and mev_simBundle take v0.1, beta-1 and version-1; eth_sendBundle v1 and v2.")
	BundleTooDeep = define("bundle-too-deep", codeServer, 200, "bundle too deep",
		"A bundle may have bundles as elements; those may not.")
	InvalidInclusion = define("invalid-inclusion", codeServer, 200, "invalid inclusion",
		"The blocks must lie ahead: eth_sendBundle's by at most 1000; mev_sendBundle's by at most 5 to the first and 30 "+
			"from there to the last, and "+
			"an inner bundle's must overlap the outer's. A private transaction's may end where it likes: it is tried for "+
			"--private-blocks, 64 at most.")
	InvalidBody = define("invalid-bundle-body", codeServer, 200, "invalid bundle body",
		"A hash may only be the first element of the outermost bundle, with exactly one transaction after it (one backrun).")
	InvalidBodySize = define("invalid-bundle-body-size", codeServer, 200, "invalid bundle body size",
		"The body is empty, or has more than 50 transactions; a hash counts as one.")
	InvalidConstraints = define("invalid-bundle-constraints", codeServer, 200, "invalid bundle constraints",
		"Percentages lie between 0 and 100, each list sums to at most 100, and refunds name each element at most once. "+
			"Who follows a hash cannot "+
			"set refunds: they are the other's.")
	InvalidPrivacy = define("invalid-bundle-privacy", codeServer, 200, "invalid bundle privacy",
		"Unknown hint, wantRefund outside 0 to 100, or hints on a bundle that follows a hash.")
	InvalidRevertMode = define("invalid-revert-mode", codeServer, 200, "invalid revert mode",
		"revertMode is allow, drop or fail.")
	InvalidTimestamps = define("invalid-timestamps", codeServer, 200, "invalid timestamps",
		"maxTimestamp is before minTimestamp, or over already.")
	InvalidRefund = define("invalid-refund", codeServer, 200, "invalid refund",
		"refundPercent lies between 1 and 99; refundTxHashes names at most one transaction, of this bundle.")
	UnmatchedBundle = define("unmatched-bundle", codeServer, 200, "unmatched bundle",
		"mev_simBundle does not simulate a bundle that begins with a hash: it would tell of the other's transaction what "+
			"its sender does not share.")
	BackrunNotFound = define("backrun-not-found", codeServer, 200, "backrun not found",
		"No order with this double hash can be followed: never seen, not shared, cancelled or landed.")
	BackrunInvalidBundle = define("backrun-invalid-bundle", codeServer, 200, "backrun invalid bundle",
		"The order with this double hash may not be followed: its signer does not share its hash, or bundles would be too "+
			"deep in bundles.")
	BackrunLimited = define("backrun-limited", codeLimitExceeded, 200, "too many backruns of this order",
		"At most 20 orders of one signer, or with transactions of one sender, may follow the same order in one block. "+
			"Repeat it at the next block.")
	BackrunInvalidInclusion = define("backrun-invalid-inclusion", codeServer, 200, "backrun invalid inclusion",
		"The order with this double hash is for other blocks than the bundle that follows it.")
)

// Simulation, and what the node knows.
var (
	HeaderNotFound = define("header-not-found", codeServer, 200, "header not found",
		"The block whose state is asked for is not known here, or its state is gone.")
	SimulationFailed = define("simulation-failed", codeServer, 200, "err",
		"A transaction cannot be included at all: its nonce, its fee or its sender's balance is wrong. The message is the "+
			"execution's own.")
	SimulationTimeout = define("simulation-timeout", codeServer, 200, "execution aborted (timeout)",
		"The simulation did not end within its time: 5 seconds unless the request says otherwise, 30 at most.")
	SimulationBusy = define("simulation-busy", codeLimitExceeded, 200, "too many simulations wait",
		"This signer, or everybody together, has as many simulations waiting as there may be. Repeat the request later.")
	NodeUnavailable = define("node-unavailable", codeServer, 200, "execution node unavailable",
		"The execution node does not answer. Nothing is wrong with this request; repeat it later.")
)

// Refunds, statistics and everything else.
var (
	InvalidCursor = define("invalid-cursor", codeParams, 200, "invalid cursor",
		"Send the cursor of the answer before, unchanged, with the same query.")
	InvalidRange = define("invalid-range", codeParams, 200, "invalid block range",
		"blockRangeFrom may not be above blockRangeTo, and hash needs both.")
	NotYourAddress = define("not-your-address", codeServer, 403, "signer does not match the first address",
		"Only the holder of an address may say where its refunds go: sign the request with that address' key.")
	NotReady = define("not-ready", codeServer, 503, "not ready",
		"The service is starting or stopping, its newest block is too old, or the database does not answer.")
	JournalUnavailable = define("journal-unavailable", codeServer, 503, "not kept by the journal",
		"The journal did not say in time that it has this, so it is not promised: a new order is not sent to anybody, a "+
			"cancel or a recipient counts until the "+
			"service is restarted. Repeat the request.")
	StatsTooOld = define("stats-block-range", codeServer, 200, "block is too far from the newest one",
		"Statistics are asked for with a block within 20 of the newest one.")
	OrderCancelled = define("order-cancelled", codeServer, 200, "order was cancelled",
		"Its signer cancelled it: this replacementUuid less than a minute ago, before anything came with it, or for just "+
			"this block; or this "+
			"private transaction at most 30 blocks ago.")
	OrderUnknown = define("order-unknown", codeServer, 200, "order not found",
		"None of this signer's orders has this hash or replacementUuid.")
)
