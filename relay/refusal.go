package relay

import "github.com/gavel-relay/gavel/internal/refusal"

// Refusal is one named way of saying no.
type Refusal = refusal.Refusal

// Refused is the refusal of one request: an error, which every package that refuses returns.
type Refused = refusal.Refused

// Refusals is the catalogue, in the order of docs/relay.md. The variables below are its entries.
// Package relay/api has the HTTP status of each.
var Refusals refusal.Catalogue

// Refusals of every interface.
var (
	NotFound = Refusals.Define("not-found", "no such endpoint",
		"The path is none of this relay's. Paths begin with /eth/v1/builder, /eth/v2/builder or /relay/v1.", "REL-GEN-03")
	MethodNotAllowed = Refusals.Define("method-not-allowed", "wrong method for this endpoint",
		"The Allow header of the answer names the methods that the path knows.")
	NotAcceptable = Refusals.Define("not-acceptable", "not acceptable",
		"No media type in Accept can be produced. This relay produces application/json and, where documented, "+
			"application/octet-stream; "+
			"the Data API also text/csv and application/x-ndjson.", "REL-HDR-10")
	UnsupportedMediaType = Refusals.Define("unsupported-media-type", "unsupported content type or encoding",
		"Send application/json or application/octet-stream, plain or with a Content-Encoding that the endpoint documents.",
		"REL-SUB-24", "REL-REG-11", "REL-PAY-09")
	BodyTooLarge = Refusals.Define("body-too-large", "request body is too large",
		"The body, after decompression, exceeds the limit of this endpoint.", "REL-SUB-27")
	BodyUnreadable = Refusals.Define("body-unreadable", "could not read the request body",
		"The body ended early, came too slowly, or is not in the encoding that Content-Encoding names.")
	Malformed = Refusals.Define("malformed", "could not decode the request",
		"The body does not have the documented form in the fork of its slot.", "REL-SUB-25", "REL-SUB-26", "REL-SUB-34",
		"REL-SUB-36", "REL-REG-09", "REL-REG-10", "REL-REG-12", "REL-PAY-10")
	UnknownFork = Refusals.Define("unknown-fork", "unknown or missing consensus version",
		"Eth-Consensus-Version names no fork that this relay serves, or is missing where SSZ needs it; or the slot is in a "+
			"fork that it does not serve.")
	WrongFork = Refusals.Define("wrong-fork", "consensus version is not the fork of the slot",
		"Eth-Consensus-Version differs from the fork that is active in the slot of the message.", "REL-SUB-29")
	RateLimited = Refusals.Define("rate-limited", "too many requests",
		"Come back after the seconds that Retry-After says. Builders with an API key have an allowance of their own.",
		"REL-GEN-06")
	Overloaded = Refusals.Define("overloaded", "too many requests at once",
		"The relay holds as many bytes of request bodies as it may, or as many of this client's as one may have at once. "+
			"Nothing is wrong with this request; repeat it after Retry-After.")
	Internal = Refusals.Define("internal", "internal error",
		"Something broke on our side; the request may be repeated. The log has the cause under the answer's X-Request-Id.")
	NotReady = Refusals.Define("not-ready", "not ready",
		"The relay is starting or stopping: validators or duties are not known yet, or no more requests are taken. Or no "+
			"beacon node has told of a head for long, "+
			"or a test of the relay's own way to deliver a payload has failed: then no headers are served until it succeeds. "+
			"Or the next slot is in a fork that this relay does not serve.")
)

// Refusals of registerValidator.
var (
	RegistrationsInvalid = Refusals.Define("registrations-invalid", "some registrations were refused",
		"The good entries were stored; failures in the answer lists the first hundred refused ones with their index and "+
			"reason.", "REL-REG-07")
	RegistrationsTooMany = Refusals.Define("registrations-too-many", "too many registrations in one request",
		"A request may have 100,000 entries. None was looked at: send them in several requests.")
	RegistrationTooEarly = Refusals.Define("registration-too-early", "timestamp is before genesis",
		"A registration cannot be older than the chain.")
	RegistrationTooLate = Refusals.Define("registration-in-future", "timestamp is too far in the future",
		"A registration's timestamp may be at most 10 seconds ahead of this relay's clock.", "REL-REG-04")
	RegistrationUnknownValidator = Refusals.Define("registration-unknown-validator", "not a known validator",
		"The public key is no active or pending validator of the beacon chain.", "REL-REG-05")
	RegistrationSignature = Refusals.Define("registration-signature", "signature of the registration is wrong",
		"The signature does not verify under the builder domain of this network with the registration's own public key.",
		"REL-REG-02")
)

// Refusals of getHeader.
var (
	InvalidSlot = Refusals.Define("invalid-slot", "invalid slot", "The slot is a decimal number below 2^64.",
		"REL-HDR-04")
	InvalidPubkey = Refusals.Define("invalid-pubkey", "invalid pubkey",
		"A public key is 0x and 96 hexadecimal digits, in any letter case.", "REL-HDR-06")
	InvalidHash = Refusals.Define("invalid-hash", "invalid hash",
		"A hash is 0x and 64 hexadecimal digits, in any letter case.", "REL-HDR-05")
	SlotTooOld = Refusals.Define("slot-too-old", "slot is too old", "The chain's head is already beyond the slot.",
		"REL-HDR-20")
)

// Refusals of the Builder API from gloas on.
var (
	InvalidDeadline = Refusals.Define("invalid-deadline", "the deadline is missing or cannot be read",
		"A request for a bid needs Date-Milliseconds, when it was sent, and X-Timeout-Ms, how long its sender waits: "+
			"milliseconds, decimal, at most a minute.")
	BeforeGloas = Refusals.Define("before-gloas", "the slot is before the gloas fork",
		"Bids that stand in blocks are from gloas on; before that the endpoint is /eth/v1/builder/header.")
	AuthData = Refusals.Define("auth-data", "the request is for another builder",
		"auth.message.data is not what this relay agreed on with proposers (--gloas-auth-data): the host of its URL, unless "+
			"the operator has said otherwise.")
	AuthSlot = Refusals.Define("auth-slot", "the request's slot is not the one that was signed",
		"auth.message.slot must be the slot of the path; for preferences, a slot that is not over.")
	AuthSignature = Refusals.Define("auth-signature", "could not verify the request's signature",
		"The signature does not verify with the public key of the path under the domain of builder requests (0x0b000001, "+
			"genesis fork version, zero root).")
	PreferencesNotProposer = Refusals.Define("preferences-not-proposer", "the key does not propose in the slot",
		"Preferences are kept for the proposers of this epoch and the next one.")
	PreferencesNotKept = Refusals.Define("preferences-not-kept", "the preferences could not be stored",
		"The relay could not write them into its journal, and the earlier ones count; ask again.")
)

// Refusals of a builder's submission, cheap checks first.
var (
	SubmissionPastSlot = Refusals.Define("submission-past-slot", "submission for a past slot",
		"The slot is not after the slot of the chain's head.", "REL-SUB-11")
	SubmissionNoDuty = Refusals.Define("submission-no-duty", "could not find the slot's duty",
		"No registered validator of this relay proposes in that slot, or its duty is not known yet.", "REL-SUB-12")
	SubmissionWrongProposer = Refusals.Define("submission-wrong-proposer",
		"proposer pubkey is not that of the slot's duty",
		"message.proposer_pubkey must be the validator that proposes in the slot.", "REL-SUB-10")
	SubmissionFeeRecipient = Refusals.Define("submission-fee-recipient", "fee recipient does not match",
		"message.proposer_fee_recipient must be the one that the proposer registered.", "REL-SUB-09")
	SubmissionTimestamp = Refusals.Define("submission-timestamp", "incorrect timestamp",
		"The payload's timestamp must be the start of its slot.", "REL-SUB-13")
	SubmissionBlockHash = Refusals.Define("submission-block-hash", "block hash of message and payload differ",
		"message.block_hash must equal execution_payload.block_hash.", "REL-SUB-05")
	SubmissionParentHash = Refusals.Define("submission-parent-hash", "parent hash of message and payload differ",
		"message.parent_hash must equal execution_payload.parent_hash.", "REL-SUB-06")
	SubmissionTraceGasLimit = Refusals.Define("submission-trace-gas-limit", "gas limit of message and payload differ",
		"message.gas_limit must equal execution_payload.gas_limit.", "REL-SUB-07")
	SubmissionTraceGasUsed = Refusals.Define("submission-trace-gas-used", "gas used of message and payload differ",
		"message.gas_used must equal execution_payload.gas_used.", "REL-SUB-08")
	SubmissionGasLimitChanged = Refusals.Define("submission-gas-limit-changed",
		"the proposer asks for a lower gas limit now",
		"The proposer registered a lower gas limit while the block was executed. Build another one for it.", "REL-SUB-19")
	SubmissionNoAttributes = Refusals.Define("submission-no-attributes", "payload attributes are not (yet) known",
		"No beacon node has announced payload attributes for this parent and slot.", "REL-SUB-30")
	SubmissionBlockNumber = Refusals.Define("submission-block-number", "incorrect block number",
		"The payload's block_number must be the one after the parent's of the payload attributes.")
	SubmissionSlotNumber = Refusals.Define("submission-slot-number", "incorrect slot_number",
		"From gloas on, the payload's slot_number must be the slot of the message.")
	SubmissionPrevRandao = Refusals.Define("submission-prev-randao", "incorrect prev_randao",
		"The payload's prev_randao must be the one of the payload attributes.", "REL-SUB-14")
	SubmissionWithdrawals = Refusals.Define("submission-withdrawals", "incorrect withdrawals",
		"The payload's withdrawals must be those of the payload attributes, in their order.", "REL-SUB-15")
	SubmissionBlobCounts = Refusals.Define("submission-blob-counts", "blobs bundle does not fit together",
		"There must be a commitment for each blob, and one proof a blob in deneb and electra, 128 in fulu.", "REL-SUB-28")
	SubmissionBlobLimit = Refusals.Define("submission-blob-limit", "too many blobs",
		"The block carries more blobs than the slot's epoch allows.")
	SubmissionDelivered = Refusals.Define("submission-delivered", "payload for this slot was already delivered",
		"The auction of this slot is over.", "REL-PAY-16")
	SubmissionSignature = Refusals.Define("submission-signature", "invalid signature",
		"The builder's signature over the message does not verify under the builder domain of this network.", "REL-SUB-04")
	SubmissionBuilderKey = Refusals.Define("submission-builder-key", "invalid builder key or signature encoding",
		"message.builder_pubkey or signature is no point of its group, or the point at infinity.", "REL-SUB-04")
	SubmissionStale = Refusals.Define("submission-stale", "already using a newer submission of this builder",
		"A submission of the same builder that was received later, or has a higher x-sequence, is already in the auction.")
	SubmissionInvalid = Refusals.Define("submission-invalid", "the block is invalid",
		"The block was executed on its parent's state and broke the rule that the message names.", "REL-SUB-16", "REL-SUB-17",
		"REL-SUB-18", "REL-SUB-19", "REL-SUB-35")
	SubmissionUnverifiable = Refusals.Define("submission-unverifiable", "the block could not be validated",
		"Validation is not available now or the parent's state is not here yet. This says nothing about the block; submit "+
			"again.")
	SubmissionCrowded = Refusals.Define("submission-crowded", "too many blocks wait to be validated",
		"Of this public key, this address, or of all strangers. Builders with an API key or a record of valid blocks have "+
			"a share of their own.")
	SubmissionTimeout = Refusals.Define("submission-timeout", "validation took too long",
		"The block was not validated in time. This says nothing about the block; submit again.")
	SubmissionCancellations = Refusals.Define("submission-cancellations", "cancellations are disabled",
		"This relay does not allow ?cancellations=1.")
	SubmissionBlocked = Refusals.Define("submission-blocked", "builder is blocked",
		"The operator of this relay takes no submissions of this builder.")
	APIKeyUnknown = Refusals.Define("api-key-unknown", "unknown API key",
		"X-Api-Key is none that the operator of this relay has given out.")
	APIKeyNeeded = Refusals.Define("api-key-needed", "an API key is needed",
		"Header-first and dehydrated submissions, and the leading bids where the operator says so, are for builders that "+
			"the operator trusts; "+
			"they send X-Api-Key.")
	APIKeyOtherBuilder = Refusals.Define("api-key-other-builder", "API key is another builder's",
		"message.builder_pubkey is none of the keys that belong to the API key.")
	HeaderNotTrusted = Refusals.Define("header-not-trusted", "header-first submissions are not allowed for this bid",
		"The builder must be in the optimistic mode with header-first allowed, and the value may not exceed its "+
			"collateral. Send the whole block.")
	HeaderPayloadMismatch = Refusals.Define("header-payload-mismatch", "payload is not that of the header sent before",
		"A header with this block hash is in the auction, and the block that followed has another header, other "+
			"commitments or other requests.")
	SubmissionOtherPayload = Refusals.Define("submission-other-payload", "another payload with this block hash is here",
		"The same builder has sent a block with this hash and another payload before. One of the two does not have the hash.")
	SubmissionEscrowDown = Refusals.Define("submission-escrow-unavailable", "the block could not be kept",
		"A bid counts only once its payload is kept safely, which is not possible now. This says nothing about the block; "+
			"submit again.")
	SubmissionAuctionDown = Refusals.Define("submission-auction-unavailable", "the auction could not be reached",
		"In a cluster a bid counts once it is in the auction log that all instances share. The log does not take it, does "+
			"not answer in time, or was not read as a whole here. The bid may count or not; submit again.")
	SubmissionEscrowCrowded = Refusals.Define("submission-escrow-crowded", "too many blocks are kept for you already",
		"Blocks of this builder, this address, or of all strangers take all the room that they may, and none of them can "+
			"go: they lead, were served, or are being executed.")
	SubmissionSequence = Refusals.Define("submission-sequence", "invalid x-sequence",
		"x-sequence is a decimal number from 1 to 2^64-1.")
	SubmissionHydrationForm = Refusals.Define("submission-hydration-form",
		"the dehydrated submission does not fit together",
		"X-Blobs-Sent must name the indices of the blobs in the body, ascending, with all their proofs; filled, the block "+
			"must be within the limit.")
	SubmissionNotHydratable = Refusals.Define("submission-not-hydratable",
		"something that was left out is not known here: send the whole block",
		"This relay keeps for a while what a builder has sent. The named transaction or blob is not, or no longer, among it.")
)

// Refusals of bids that staked builders have signed themselves, and of their envelopes.
var (
	StakedBidSlot = Refusals.Define("staked-bid-slot", "the bid is for no slot that runs",
		"Bids are taken for the slot that runs and the next one, while the head is of an earlier slot.")
	StakedBidBuilder = Refusals.Define("staked-bid-builder", "the bid's builder may not bid here",
		"builder_index must be a builder of the beacon chain of version 0 whose deposit is final and who has not left. The "+
			"relay reads them once in an epoch, and with the next head if one is named that it lacks. It is not the relay's "+
			"own.")
	StakedBidNotHigher = Refusals.Define("staked-bid-not-higher", "the builder has bid as much already",
		"A bid replaces the one before it, for the same slot and parent, only if value and execution_payment together are "+
			"more; or if it is the same bid, now with its payload.")
	StakedBidTooMany = Refusals.Define("staked-bid-too-many", "too many bids or envelopes of the builder for the slot",
		"The message names the bound. The bids that were taken before stand.")
	StakedBidPreferences = Refusals.Define("staked-bid-preferences", "the proposer's preferences are not clear",
		"No beacon node has told of them, or those of two branches of the chain contradict each other.")
	StakedBidParent = Refusals.Define("staked-bid-parent", "payload attributes of the parent are not (yet) known",
		"No beacon node has announced payload attributes for the slot on parent_block_root with parent_block_hash.")
	StakedBidTerms = Refusals.Define("staked-bid-terms", "the bid does not keep the slot's terms",
		"The message names what is wrong: fee_recipient, prev_randao, the number of blobs, a block that is its own parent, "+
			"or a bid of nothing.")
	StakedBidPromise = Refusals.Define("staked-bid-promise", "an execution payment needs the payload",
		"Without its payload nobody can see whether a bid pays within it. Send the payload with the bid, or bid value "+
			"alone. A builder that has not signed the envelope of a payload that was sold can only bid value for 7,200 slots.")
	StakedBidBalance = Refusals.Define("staked-bid-balance", "the builder's balance does not cover the bid",
		"value may be at most the balance less 1 ETH, and less the values of blocks that this relay has published with bids "+
			"of the builder in this epoch and the one before.")
	StakedBidSignature = Refusals.Define("staked-bid-signature", "could not verify the bid's signature",
		"The signature does not verify with the builder's key under the domain of builders (0x0b000000) in the slot's fork.")
	StakedBidContents = Refusals.Define("staked-bid-contents", "the payload is not that of the bid",
		"The message names the rule of envelopes that it breaks, or how its hash differs from block_hash.")
	StakedBidNotKept = Refusals.Define("staked-bid-not-kept", "the bid or envelope could not be kept",
		"It counts only once the journal has it. This says nothing about it; send it again.")
	StakedEnvelopeUnknown = Refusals.Define("staked-envelope-unknown", "no payload for this envelope",
		"No bid of the builder in a slot that runs came with a payload of this payload_root.")
	StakedEnvelopeWrong = Refusals.Define("staked-envelope-wrong", "the envelope is not that of the bid",
		"Parent or requests differ from those of the bid, it names no block, or the builder's signature does not verify.")
)

// Refusals of submitBlindedBlock.
var (
	PayloadUnknownProposer = Refusals.Define("payload-unknown-proposer", "not the expected proposer index",
		"The block's proposer_index is not that of the slot's duty.", "REL-PAY-13")
	PayloadSignature = Refusals.Define("payload-signature", "could not verify the block's signature",
		"The signature does not verify with the slot's proposer under the beacon proposer domain of the slot's fork.",
		"REL-PAY-03")
	PayloadUnknown = Refusals.Define("payload-unknown", "no execution payload for this request",
		"This relay has served no header with that block hash, or its slot is long over.", "REL-PAY-04")
	PayloadHeaderMismatch = Refusals.Define("payload-header-mismatch", "invalid execution payload header",
		"Header, blob commitments or execution requests are not those that this relay served under the block hash.",
		"REL-PAY-14", "REL-PAY-15")
	PayloadOther = Refusals.Define("payload-other-delivered", "another payload for this slot was already delivered",
		"The proposer has already asked for another block of this slot. Only one is ever revealed.", "REL-PAY-05")
	PayloadEarlierSlot = Refusals.Define("payload-earlier-slot", "payload of a later slot was already delivered",
		"A block of a later slot has been published since. Publishing this one now could only split the chain.")
	PayloadTooLate = Refusals.Define("payload-too-late", "sent too late",
		"The request came later into the slot than the cut-off allows.")
	PayloadNotPublished = Refusals.Define("payload-not-published", "failed to publish block",
		"No beacon node accepted the block, so the payload stays secret and is not listed as delivered.", "REL-PAY-19")
	PayloadEscrowDown = Refusals.Define("payload-escrow-unavailable", "the payload cannot be read",
		"The relay could not read the payload from where it is kept, so that nothing is known of it. Nothing was "+
			"revealed; ask again.")
	PayloadGuardDown = Refusals.Define("payload-guard-unavailable", "the one-block-per-slot guard is not available",
		"The relay could not make sure that only one block of the slot is revealed. Nothing was revealed; ask again.")
)

// Refusals of the stream of top bids.
var (
	WebSocketNeeded = Refusals.Define("websocket-needed", "this endpoint speaks WebSocket only",
		"Send a GET with Connection: Upgrade, Upgrade: websocket, Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key (RFC "+
			"6455, 4.1).")
	TooManyListeners = Refusals.Define("too-many-listeners", "too many listeners",
		"All places for listeners to the leading bids are taken, or all that one address or builder may have. Retry-After "+
			"says when to ask again.")
)

// Refusals of the Data API.
var (
	InvalidArgument = Refusals.Define("invalid-argument", "invalid argument",
		"A query parameter does not have the documented form.", "REL-DAT-10", "REL-DAT-11", "REL-DAT-22")
	ArgumentConflict = Refusals.Define("argument-conflict", "arguments exclude each other",
		"For example slot and cursor.", "REL-DAT-09")
	ArgumentMissing = Refusals.Define("argument-missing", "missing argument",
		"The endpoint needs at least one of the named parameters.", "REL-DAT-16", "REL-DAT-19")
	LimitTooHigh = Refusals.Define("limit-too-high", "limit is too high",
		"The message names the greatest limit of the endpoint.", "REL-DAT-12")
	RegistrationNotFound = Refusals.Define("registration-not-found", "no registration found",
		"The validator has not registered with this relay.", "REL-DAT-18")
	ArchiveUnavailable = Refusals.Define("archive-unavailable", "the archive is not available",
		"The database behind the Data API does not answer, or is not connected yet. The auction goes on; ask again later.")
)

// Refusals of the admin API.
var (
	AdminToken = Refusals.Define("admin-token", "the admin token is missing or wrong",
		"Send Authorization: Bearer and the token that the relay was started with, or log in at /operator with it.")
	BuilderUnknown = Refusals.Define("builder-unknown", "no such builder", "GET /admin/v1/builders lists the names.")
	BuilderInvalid = Refusals.Define("builder-invalid", "the builder's record cannot be used",
		"The message says what is wrong with it.")
	EvidenceUnknown = Refusals.Define("evidence-unknown", "no evidence under that block hash",
		"Only blocks that a builder was demoted for are kept, and the oldest make place for newer ones.")
	AdminNotKept = Refusals.Define("admin-not-kept", "the change is in force, but not kept yet",
		"The journal does not answer: a restart now would undo the change. It is kept by itself as soon as the journal "+
			"can; ask again to see it done.")
	AdminForm = Refusals.Define("admin-form", "the form was not sent by the operator's page",
		"It came from another site, or from a page of an earlier log-in: load the page again.")
	AdminReason = Refusals.Define("admin-reason", "a change needs a reason",
		"The reason becomes a part of the fact. It is one line of 3 to 500 characters.")
	AdminLogins = Refusals.Define("admin-logins", "too many log-ins",
		"An address may try five times at once, and then once in ten seconds. Retry-After says when to ask again.")
)
