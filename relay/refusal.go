package relay

import "fmt"

// Refusal is one way of saying no. The catalogue below is the only place where they are made: an id
// is the metric label, the log field, the row in docs/relay.md and the word that a scenario
// expects.
type Refusal struct {
	ID string
	// Status is the HTTP status of the answer.
	Status int
	// Short is the message in the answer.
	Short string
	// Long says what the caller should look at.
	Long string
	// Row is the row of the check in the conformance table (S…, R…, H…, P…, D…), empty where there is
	// none.
	Row string
}

// Refused is a refusal of one request, with what was seen. It is an error; every room that refuses
// returns it.
type Refused struct {
	Refusal
	// Detail is appended to the short text in the answer: what came and what was expected. It never
	// holds internals.
	Detail string
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

// Refusals is the catalogue, in the order of the docs. define appends to it.
var Refusals []Refusal

func define(id string, status int, row, short, long string) Refusal {
	r := Refusal{ID: id, Status: status, Row: row, Short: short, Long: long}
	Refusals = append(Refusals, r)
	return r
}

// What every interface refuses.
var (
	NotFound = define("not-found", 404, "", "no such endpoint",
		"The path is none of this relay's. Paths begin with /eth/v1/builder, /eth/v2/builder or /relay/v1.")
	MethodNotAllowed = define("method-not-allowed", 405, "", "wrong method for this endpoint",
		"The Allow header of the answer names the methods that the path knows.")
	NotAcceptable = define("not-acceptable", 406, "H05", "not acceptable",
		"No media type in Accept can be produced. This relay produces application/json and, where documented, "+
			"application/octet-stream; "+
			"the Data API also text/csv and application/x-ndjson.")
	UnsupportedMediaType = define("unsupported-media-type", 415, "", "unsupported content type or encoding",
		"Send application/json or application/octet-stream, plain or with a Content-Encoding that the endpoint documents.")
	BodyTooLarge = define("body-too-large", 413, "S40", "request body is too large",
		"The body, after decompression, exceeds the limit of this endpoint.")
	BodyUnreadable = define("body-unreadable", 400, "S40", "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	Malformed = define("malformed", 400, "S01", "could not decode the request",
		"The body does not have the documented form in the fork of its slot.")
	UnknownFork = define("unknown-fork", 400, "S02", "unknown or missing consensus version",
		"Eth-Consensus-Version names no fork known here, or is missing where SSZ needs it.")
	WrongFork = define("wrong-fork", 400, "S02", "consensus version is not the fork of the slot",
		"Eth-Consensus-Version differs from the fork that is active in the slot of the message.")
	RateLimited = define("rate-limited", 429, "", "too many requests",
		"Come back after the seconds that Retry-After says. Builders with an API key have an allowance of their own.")
	Overloaded = define("overloaded", 503, "S40", "too many requests at once",
		"The relay holds as many bytes of request bodies as it may, or as many of this client's as one may have at once. "+
			"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = define("internal", 500, "", "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
	NotReady = define("not-ready", 503, "", "not ready",
		"The relay is starting or stopping: validators or duties are not known yet, or no more requests are taken. Or no "+
			"beacon node has told of a head for long, "+
			"or a test of the relay's own way to deliver a payload has failed: then no headers are served until it succeeds.")
)

// What registerValidator refuses.
var (
	RegistrationsInvalid = define("registrations-invalid", 400, "R06", "some registrations were refused",
		"The good entries were stored; failures in the answer lists the first hundred refused ones with their index and "+
			"reason.")
	RegistrationsTooMany = define("registrations-too-many", 413, "", "too many registrations in one request",
		"A request may have 100,000 entries. None was looked at: send them in several requests.")
	RegistrationTooEarly = define("registration-too-early", 400, "", "timestamp is before genesis",
		"A registration cannot be older than the chain.")
	RegistrationTooLate = define("registration-in-future", 400, "R01", "timestamp is too far in the future",
		"A registration's timestamp may be at most 10 seconds ahead of this relay's clock.")
	RegistrationUnknownValidator = define("registration-unknown-validator", 400, "R04", "not a known validator",
		"The public key is no active or pending validator of the beacon chain.")
	RegistrationSignature = define("registration-signature", 400, "R06", "signature of the registration is wrong",
		"The signature does not verify under the builder domain of this network with the registration's own public key.")
)

// What getHeader refuses.
var (
	InvalidSlot   = define("invalid-slot", 400, "H02", "invalid slot", "The slot is a decimal number below 2^64.")
	InvalidPubkey = define("invalid-pubkey", 400, "H02", "invalid pubkey",
		"A public key is 0x and 96 hexadecimal digits, in any letter case.")
	InvalidHash = define("invalid-hash", 400, "H02", "invalid hash",
		"A hash is 0x and 64 hexadecimal digits, in any letter case.")
	SlotTooOld = define("slot-too-old", 400, "", "slot is too old", "The chain's head is already beyond the slot.")
)

// What a builder's submission is refused for, cheap checks first.
var (
	SubmissionPastSlot = define("submission-past-slot", 400, "S03", "submission for a past slot",
		"The slot is not after the slot of the chain's head.")
	SubmissionNoDuty = define("submission-no-duty", 400, "S04", "could not find the slot's duty",
		"No registered validator of this relay proposes in that slot, or its duty is not known yet.")
	SubmissionWrongProposer = define("submission-wrong-proposer", 400, "S07",
		"proposer pubkey is not that of the slot's duty",
		"message.proposer_pubkey must be the validator that proposes in the slot.")
	SubmissionFeeRecipient = define("submission-fee-recipient", 400, "S06", "fee recipient does not match",
		"message.proposer_fee_recipient must be the one that the proposer registered.")
	SubmissionTimestamp = define("submission-timestamp", 400, "S05", "incorrect timestamp",
		"The payload's timestamp must be the start of its slot.")
	SubmissionBlockHash = define("submission-block-hash", 400, "S09", "block hash of message and payload differ",
		"message.block_hash must equal execution_payload.block_hash.")
	SubmissionParentHash = define("submission-parent-hash", 400, "S10", "parent hash of message and payload differ",
		"message.parent_hash must equal execution_payload.parent_hash.")
	SubmissionTraceGasLimit = define("submission-trace-gas-limit", 400, "S11", "gas limit of message and payload differ",
		"message.gas_limit must equal execution_payload.gas_limit.")
	SubmissionTraceGasUsed = define("submission-trace-gas-used", 400, "S12", "gas used of message and payload differ",
		"message.gas_used must equal execution_payload.gas_used.")
	SubmissionGasLimitChanged = define("submission-gas-limit-changed", 400, "S20",
		"the proposer asks for a lower gas limit now",
		"The proposer registered a lower gas limit while the block was executed. Build another one for it.")
	SubmissionNoAttributes = define("submission-no-attributes", 400, "S13", "payload attributes are not (yet) known",
		"No beacon node has announced payload attributes for this parent and slot.")
	SubmissionBlockNumber = define("submission-block-number", 400, "S22", "incorrect block number",
		"The payload's block_number must be the one after the parent's of the payload attributes.")
	SubmissionPrevRandao = define("submission-prev-randao", 400, "S14", "incorrect prev_randao",
		"The payload's prev_randao must be the one of the payload attributes.")
	SubmissionWithdrawals = define("submission-withdrawals", 400, "S15", "incorrect withdrawals",
		"The payload's withdrawals must be those of the payload attributes, in their order.")
	SubmissionBlobCounts = define("submission-blob-counts", 400, "S29", "blobs bundle does not fit together",
		"There must be a commitment for each blob, and one proof a blob in deneb and electra, 128 in fulu.")
	SubmissionBlobLimit = define("submission-blob-limit", 400, "S30", "too many blobs",
		"The block carries more blobs than the slot's epoch allows.")
	SubmissionDelivered = define("submission-delivered", 400, "S37", "payload for this slot was already delivered",
		"The auction of this slot is over.")
	SubmissionSignature = define("submission-signature", 400, "S17", "invalid signature",
		"The builder's signature over the message does not verify under the builder domain of this network.")
	SubmissionBuilderKey = define("submission-builder-key", 400, "S18", "invalid builder key or signature encoding",
		"message.builder_pubkey or signature is no point of its group, or the point at infinity.")
	SubmissionStale = define("submission-stale", 400, "S39", "already using a newer submission of this builder",
		"A submission of the same builder that was received later, or has a higher x-sequence, is already in the auction.")
	SubmissionInvalid = define("submission-invalid", 400, "S24", "the block is invalid",
		"The block was executed on its parent's state and broke the rule that the message names.")
	SubmissionUnverifiable = define("submission-unverifiable", 503, "", "the block could not be validated",
		"Validation is not available now or the parent's state is not here yet. This says nothing about the block; submit "+
			"again.")
	SubmissionCrowded = define("submission-crowded", 503, "", "too many blocks wait to be validated",
		"Of this public key, this address, or of all strangers. Builders with an API key or a record of valid blocks have "+
			"a share of their own.")
	SubmissionTimeout = define("submission-timeout", 504, "", "validation took too long",
		"The block was not validated in time. This says nothing about the block; submit again.")
	SubmissionCancellations = define("submission-cancellations", 400, "", "cancellations are disabled",
		"This relay does not allow ?cancellations=1.")
	SubmissionBlocked = define("submission-blocked", 403, "", "builder is blocked",
		"The operator of this relay takes no submissions of this builder.")
	APIKeyUnknown = define("api-key-unknown", 401, "", "unknown API key",
		"X-Api-Key is none that the operator of this relay has given out.")
	APIKeyNeeded = define("api-key-needed", 401, "", "an API key is needed",
		"Header-first and dehydrated submissions, and the leading bids where the operator says so, are for builders that "+
			"the operator trusts; "+
			"they send X-Api-Key.")
	APIKeyOtherBuilder = define("api-key-other-builder", 403, "", "API key is another builder's",
		"message.builder_pubkey is none of the keys that belong to the API key.")
	HeaderNotTrusted = define("header-not-trusted", 403, "", "header-first submissions are not allowed for this bid",
		"The builder must be in the optimistic mode with header-first allowed, and the value may not exceed its "+
			"collateral. Send the whole block.")
	HeaderPayloadMismatch = define("header-payload-mismatch", 400, "", "payload is not that of the header sent before",
		"A header with this block hash is in the auction, and the block that followed has another header, other "+
			"commitments or other requests.")
	SubmissionOtherPayload = define("submission-other-payload", 400, "", "another payload with this block hash is here",
		"The same builder has sent a block with this hash and another payload before. One of the two does not have the hash.")
	SubmissionEscrowDown = define("submission-escrow-unavailable", 503, "", "the block could not be kept",
		"A bid counts only once its payload is kept safely, which is not possible now. This says nothing about the block; "+
			"submit again.")
	SubmissionEscrowCrowded = define("submission-escrow-crowded", 503, "", "too many blocks are kept for you already",
		"Blocks of this builder, this address, or of all strangers take all the room that they may, and none of them can "+
			"go: they lead, were served, or are being executed.")
	SubmissionSequence = define("submission-sequence", 400, "", "invalid x-sequence",
		"x-sequence is a decimal number from 1 to 2^64-1.")
	SubmissionHydrationForm = define("submission-hydration-form", 400, "",
		"the dehydrated submission does not fit together",
		"X-Blobs-Sent must name the places of the blobs in the body, ascending, with all their proofs; filled, the block "+
			"must be within the limit.")
	SubmissionNotHydratable = define("submission-not-hydratable", 400, "",
		"something that was left out is not known here: send the whole block",
		"This relay keeps for a while what a builder has sent. The named transaction or blob is not, or no longer, among it.")
)

// What submitBlindedBlock refuses.
var (
	PayloadUnknownProposer = define("payload-unknown-proposer", 400, "P02", "not the expected proposer index",
		"The block's proposer_index is not that of the slot's duty.")
	PayloadSignature = define("payload-signature", 400, "P01", "could not verify the block's signature",
		"The signature does not verify with the slot's proposer under the beacon proposer domain of the slot's fork.")
	PayloadUnknown = define("payload-unknown", 400, "P04", "no execution payload for this request",
		"This relay has served no header with that block hash, or its slot is long over.")
	PayloadHeaderMismatch = define("payload-header-mismatch", 400, "P03", "invalid execution payload header",
		"Header, blob commitments or execution requests are not those that this relay served under the block hash.")
	PayloadOther = define("payload-other-delivered", 400, "P05", "another payload for this slot was already delivered",
		"The proposer has already asked for another block of this slot. Only one is ever revealed.")
	PayloadEarlierSlot = define("payload-earlier-slot", 400, "P07", "payload of a later slot was already delivered",
		"A block of a later slot has been published since. Publishing this one now could only split the chain.")
	PayloadTooLate = define("payload-too-late", 400, "P08", "sent too late",
		"The request came later into the slot than the cut-off allows.")
	PayloadNotPublished = define("payload-not-published", 400, "P11", "failed to publish block",
		"No beacon node accepted the block, so the payload stays secret and is not listed as delivered.")
	PayloadEscrowDown = define("payload-escrow-unavailable", 503, "", "the payload cannot be read",
		"The relay could not read the payload from where it is kept, so that nothing is known of it. Nothing was "+
			"revealed; ask again.")
	PayloadGuardDown = define("payload-guard-unavailable", 503, "", "the one-block-per-slot guard is not available",
		"The relay could not make sure that only one block of the slot is revealed. Nothing was revealed; ask again.")
)

// What a listener to the leading bids is refused for.
var (
	WebSocketNeeded = define("websocket-needed", 426, "", "this endpoint speaks WebSocket only",
		"Send a GET with Connection: Upgrade, Upgrade: websocket, Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key (RFC "+
			"6455, 4.1).")
	TooManyListeners = define("too-many-listeners", 503, "", "too many listeners",
		"All places for listeners to the leading bids are taken, or all that one address or builder may have. Retry-After "+
			"says when to ask again.")
)

// What the Data API refuses.
var (
	InvalidArgument = define("invalid-argument", 400, "D01", "invalid argument",
		"A query parameter does not have the documented form.")
	ArgumentConflict = define("argument-conflict", 400, "D02", "arguments exclude each other",
		"For example slot and cursor.")
	ArgumentMissing = define("argument-missing", 400, "D03", "missing argument",
		"The endpoint needs at least one of the named parameters.")
	LimitTooHigh = define("limit-too-high", 400, "D04", "limit is too high",
		"The message names the greatest limit of the endpoint.")
	RegistrationNotFound = define("registration-not-found", 400, "D05", "no registration found",
		"The validator has not registered with this relay.")
	ArchiveUnavailable = define("archive-unavailable", 503, "", "the archive is not available",
		"The database behind the Data API does not answer, or is not connected yet. The auction goes on; ask again later.")
)

// What the admin API refuses.
var (
	AdminToken = define("admin-token", 401, "", "the admin token is missing or wrong",
		"Send Authorization: Bearer and the token that the relay was started with.")
	BuilderUnknown = define("builder-unknown", 404, "", "no such builder", "GET /admin/v1/builders lists the names.")
	BuilderInvalid = define("builder-invalid", 400, "", "the builder's record cannot be used",
		"The message says what is wrong with it.")
	EvidenceUnknown = define("evidence-unknown", 404, "", "no evidence under that block hash",
		"Only blocks that a builder was demoted for are kept, and the oldest make place for newer ones.")
	AdminNotKept = define("admin-not-kept", 503, "", "the change is in force, but not kept yet",
		"The journal does not answer: a restart now would undo the change. It is kept by itself as soon as the journal "+
			"can; ask again to see it done.")
)

// HTTPStatus is the status of the answer.
func (r *Refused) HTTPStatus() int { return r.Status }

// RefusalID names the refusal in metrics and logs.
func (r *Refused) RefusalID() string { return r.ID }
