package rpc

import "github.com/gavel-relay/gavel/internal/refusal"

// Refusal is one way of saying no.
type Refusal = refusal.Refusal

// Refused is the refusal of one request: the error that every package that refuses returns. Its
// data is that of the JSON-RPC error.
type Refused = refusal.Refused

// Refusals is the catalogue, in the order of docs/rpc.md. The variables below are its entries.
// Their JSON-RPC codes and HTTP statuses are in rpc/jsonrpc.
var Refusals refusal.Catalogue

// The envelope.
var (
	ParseError = Refusals.Define("parse-error", "parse error",
		"The body is not JSON, or not a JSON-RPC 2.0 request: jsonrpc must be \"2.0\", id a number, a string or null.")
	InvalidRequest = Refusals.Define("invalid-request", "invalid request",
		"The body is JSON, but not a request: an object with method and params, or a list of at most as many as the batch "+
			"limit.")
	BodyTooLarge = Refusals.Define("body-too-large", "request body is too big",
		"The body, after decompression, exceeds the limit of this service.")
	BodyUnreadable = Refusals.Define("body-unreadable", "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	UnsupportedMediaType = Refusals.Define("unsupported-media-type", "unsupported content type",
		"Send application/json, plain or with Content-Encoding gzip.")
	NotFound = Refusals.Define("not-found", "no such path",
		"The service answers POST at /.")
	MethodNotAllowed = Refusals.Define("method-not-allowed", "wrong HTTP method",
		"The Allow header of the answer names the methods that the path knows.")
	MethodNotFound = Refusals.Define("method-not-found", "method not found",
		"No such method. GET /openrpc.json lists all.")
	InvalidParams = Refusals.Define("invalid-params", "invalid params",
		"A parameter is missing or has the wrong form; the message has the path of the field.")
	RateLimited = Refusals.Define("rate-limited", "rate limit exceeded",
		"Come back after the seconds that Retry-After says. X-RateLimit-Limit and X-RateLimit-Remaining tell the allowance.")
	Overloaded = Refusals.Define("overloaded", "too many requests at once",
		"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = Refusals.Define("internal", "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
)

// The signature. The detail of the refusal says which step failed.
var (
	SignatureMissing = Refusals.Define("signature-missing", "signature is required",
		"Sign the request: header X-Flashbots-Signature with <address>:<signature>.")
	SignatureMalformed = Refusals.Define("signature-malformed", "invalid signature header",
		"The header must be an address of 20 bytes, a colon and a signature of 65 bytes (r, s, v with v 0, 1, 27 or 28, "+
			"low s), both in hex.")
	SignatureMismatch = Refusals.Define("signature-mismatch", "invalid signature",
		"The signature recovers to another address than the header's. Sign, by personal message (EIP-191), the text 0x… "+
			"of the Keccak-256 of exactly "+
			"the bytes of the body: 66 characters, lower case.")
)

// Bundles.
var (
	BundleUndecodable = Refusals.Define("bundle-undecodable", "unable to decode bundle",
		"A transaction is not what a node would take: not hex, not RLP, a bad signature or another chain.")
	BundleEmpty = Refusals.Define("bundle-empty", "bundle missing txs",
		"A bundle needs at least one transaction. With a replacementUuid an empty one cancels.")
	BundleTooManyTxs = Refusals.Define("bundle-too-many-txs", "too many txs in bundle",
		"At most 100 transactions with eth_sendBundle and eth_callBundle, 50 with mev_sendBundle and mev_simBundle.")
	BundleTooLarge = Refusals.Define("bundle-too-large", "bundle too large",
		"At most 300,000 bytes in all, counted as raw transactions. In them at most 1,024 lists, such as addresses of "+
			"access lists and authorizations, and one more for each 64 bytes.")
	BundleMissingBlock = Refusals.Define("bundle-missing-block", "bundle missing blockNumber",
		"eth_callBundle needs the block that it is simulated for.")
	BundleVersion = Refusals.Define("bundle-version", "unsupported bundle version",
		"mev_sendBundle and mev_simBundle take v0.1, beta-1 and version-1; eth_sendBundle v1 and v2.")
	BundleTooDeep = Refusals.Define("bundle-too-deep", "bundle too deep",
		"A bundle may have bundles as elements; those may not.")
	InvalidInclusion = Refusals.Define("invalid-inclusion", "invalid inclusion",
		"The blocks must lie ahead: eth_sendBundle's by at most 1000; mev_sendBundle's by at most 5 to the first and 30 "+
			"from there to the last, and "+
			"an inner bundle's must overlap the outer's. A private transaction's may end where it likes: it is tried for "+
			"--private-blocks, 64 at most.")
	InvalidBody = Refusals.Define("invalid-bundle-body", "invalid bundle body",
		"A hash may only be the first element of the outermost bundle, with exactly one transaction after it (one backrun).")
	InvalidBodySize = Refusals.Define("invalid-bundle-body-size", "invalid bundle body size",
		"The body is empty, or has more than 50 transactions; a hash counts as one.")
	InvalidConstraints = Refusals.Define("invalid-bundle-constraints", "invalid bundle constraints",
		"Percentages lie between 0 and 100, each list sums to at most 100, and refunds name each element at most once. "+
			"Who follows a hash cannot "+
			"set refunds: they are the other's.")
	InvalidPrivacy = Refusals.Define("invalid-bundle-privacy", "invalid bundle privacy",
		"Unknown hint, wantRefund outside 0 to 100, or hints on a bundle that follows a hash.")
	InvalidRevertMode = Refusals.Define("invalid-revert-mode", "invalid revert mode",
		"revertMode is allow, drop or fail.")
	InvalidTimestamps = Refusals.Define("invalid-timestamps", "invalid timestamps",
		"maxTimestamp is before minTimestamp, or over already.")
	InvalidRefund = Refusals.Define("invalid-refund", "invalid refund",
		"refundPercent lies between 1 and 99; refundTxHashes names at most one transaction, of this bundle.")
	UnmatchedBundle = Refusals.Define("unmatched-bundle", "unmatched bundle",
		"mev_simBundle does not simulate a bundle that begins with a hash: it would tell of the other's transaction what "+
			"its sender does not share.")
	BackrunNotFound = Refusals.Define("backrun-not-found", "backrun not found",
		"No order with this double hash can be followed: never seen, not shared, cancelled or landed.")
	BackrunInvalidBundle = Refusals.Define("backrun-invalid-bundle", "backrun invalid bundle",
		"The order with this double hash may not be followed: its signer does not share its hash, or bundles would be too "+
			"deep in bundles.")
	BackrunLimited = Refusals.Define("backrun-limited", "too many backruns of this order",
		"At most 20 orders of one signer, or with transactions of one sender, may follow the same order in one block. "+
			"Repeat it at the next block.")
	BackrunInvalidInclusion = Refusals.Define("backrun-invalid-inclusion", "backrun invalid inclusion",
		"The order with this double hash is for other blocks than the bundle that follows it.")
)

// Simulation, and what the node knows.
var (
	HeaderNotFound = Refusals.Define("header-not-found", "header not found",
		"The block whose state is asked for is not known here, or its state is gone.")
	SimulationFailed = Refusals.Define("simulation-failed", "err",
		"A transaction cannot be included at all: its nonce, its fee or its sender's balance is wrong. The message is the "+
			"execution's own.")
	SimulationTimeout = Refusals.Define("simulation-timeout", "execution aborted (timeout)",
		"The simulation did not end within its time: 5 seconds unless the request says otherwise, 30 at most.")
	SimulationBusy = Refusals.Define("simulation-busy", "too many simulations wait",
		"This signer, or everybody together, has as many simulations waiting as there may be. Repeat the request later.")
	NodeUnavailable = Refusals.Define("node-unavailable", "execution node unavailable",
		"The execution node does not answer. Nothing is wrong with this request; repeat it later.")
)

// Refunds, statistics and everything else.
var (
	InvalidCursor = Refusals.Define("invalid-cursor", "invalid cursor",
		"Send the cursor of the answer before, unchanged, with the same query.")
	InvalidRange = Refusals.Define("invalid-range", "invalid block range",
		"blockRangeFrom may not be above blockRangeTo, and hash needs both.")
	NotYourAddress = Refusals.Define("not-your-address", "signer does not match the first address",
		"Only the holder of an address may say where its refunds go: sign the request with that address' key.")
	NotReady = Refusals.Define("not-ready", "not ready",
		"The service is starting or stopping, its newest block is too old, or the database does not answer.")
	JournalUnavailable = Refusals.Define("journal-unavailable", "not kept by the journal",
		"The journal did not say in time that it has this, so it is not promised: a new order is not sent to anybody, a "+
			"cancel or a recipient counts until the "+
			"service is restarted. Repeat the request.")
	NoOwner = Refusals.Define("no-owner", "no instance has the orders now",
		"This service has several instances, and the one that had the orders has just ended or cannot be reached. Nothing "+
			"was done; repeat the request in a few seconds.")
	AnswerUnknown = Refusals.Define("answer-unknown", "it is not known whether this was done",
		"The instance that has the orders ended, or was not heard, while it had the request. Ask for the status "+
			"(gavel_getOrderStatus), or repeat the request: an order that is there already is not taken twice.")
	StatsTooOld = Refusals.Define("stats-block-range", "block is too far from the newest one",
		"Statistics are asked for with a block within 20 of the newest one.")
	OrderCancelled = Refusals.Define("order-cancelled", "order was cancelled",
		"Its signer cancelled it: this replacementUuid less than a minute ago, before anything came with it, or for just "+
			"this block; or this "+
			"private transaction at most 30 blocks ago.")
	OrderUnknown = Refusals.Define("order-unknown", "order not found",
		"None of this signer's orders has this hash or replacementUuid.")
)
