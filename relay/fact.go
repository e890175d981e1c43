package relay

import (
	"encoding/json"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Fact is something that happened. Facts are appended to the journal in the order in which they
// happened; the Data API, metrics and logs are made from them. Facts are JSON on disk: a field may
// be added, but never renamed.
type Fact interface {
	// Subject is the journal subject below "relay.", also the name of the fact in metrics and exports.
	Subject() string
}

// Trace is a bid trace with the fields that only the relay knows. It is flat, because the Data API
// and exports are.
type Trace struct {
	Slot         phase0.Slot      `json:"slot"`
	ParentHash   phase0.Hash32    `json:"parent_hash"`
	BlockHash    phase0.Hash32    `json:"block_hash"`
	Builder      phase0.BLSPubKey `json:"builder_pubkey"`
	Proposer     phase0.BLSPubKey `json:"proposer_pubkey"`
	FeeRecipient FeeRecipient     `json:"proposer_fee_recipient"`
	GasLimit     uint64           `json:"gas_limit"`
	GasUsed      uint64           `json:"gas_used"`
	ValueWei     *uint256.Int     `json:"value"`
	NumTx        int              `json:"num_tx"`
	NumBlobs     int              `json:"num_blobs"`
	BlockNumber  uint64           `json:"block_number"`
}

// FlatTrace is the flat trace of a submission.
func (s *Submission) FlatTrace() Trace { return s.Contents().FlatTrace() }

// FlatTrace is the flat trace of what the escrow keeps.
func (c *Contents) FlatTrace() Trace {
	blobs := 0
	if c.Blobs != nil {
		blobs = len(c.Blobs.Blobs)
	}
	t := c.Trace
	return Trace{
		Slot: phase0.Slot(t.Slot), ParentHash: t.ParentHash, BlockHash: t.BlockHash, Builder: t.BuilderPubkey,
		Proposer:     t.ProposerPubkey,
		FeeRecipient: t.ProposerFeeRecipient, GasLimit: t.GasLimit, GasUsed: t.GasUsed, ValueWei: t.Value,
		NumTx: len(c.Payload.Transactions), NumBlobs: blobs, BlockNumber: c.Payload.BlockNumber,
	}
}

// SubmissionJudged says how a submission ended. Refusal is empty if it was not refused.
type SubmissionJudged struct {
	Trace
	ReceivedAt time.Time `json:"received_at"`
	// EligibleAt is when the bid began to count; zero if it does not count.
	EligibleAt time.Time `json:"eligible_at"`
	// Verified: the block was executed and found valid. A bid at or below the floor is not executed,
	// so it is not verified, and not in the Data API.
	Verified   bool `json:"verified"`
	Optimistic bool `json:"optimistic"`
	// HeaderFirst: only the header has come so far.
	HeaderFirst bool `json:"header_first,omitempty"`
	// Cancellable and Sequence say what the bid replaces, as in Submission: with them an auction can
	// be replayed from its facts.
	Cancellable bool   `json:"cancellable,omitempty"`
	Sequence    uint64 `json:"sequence,omitempty"`
	Refusal     string `json:"refusal,omitempty"`
	Detail      string `json:"detail,omitempty"`
	// Stages are those that the submission passed until it was judged. Facts of earlier versions lack
	// them.
	Stages StagesUs `json:"stages_us,omitzero"`
}

// TopChanged says that another bid is served from now on. If the value is zero, none is.
type TopChanged struct {
	At time.Time `json:"at"`
	Trace
}

// HeaderServed says that a proposer was given a header. When a bid is served for the first time
// since it leads, that is one fact. When the same header is served again, the relay only counts it,
// and records the sum when another bid leads or the head moves. So a stranger's requests do not
// make the journal grow.
type HeaderServed struct {
	// At is when it was served. In a sum it is the first time.
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	Proposer  phase0.BLSPubKey `json:"proposer_pubkey"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	ValueWei  *uint256.Int     `json:"value"`
	// FeeRecipient is whom the block pays. Facts of earlier versions lack it.
	FeeRecipient FeeRecipient `json:"proposer_fee_recipient,omitzero"`
	// Times is set in a sum: how often it was served again, the last time at Until.
	Times int       `json:"times,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Count is the number of answers that the fact stands for.
func (h HeaderServed) Count() int { return max(h.Times, 1) }

// PayloadDelivered says that a block was published: at least one beacon node accepted it (decision
// 9). Its trace is that of the bid which the proposer was given: builder and value are those that
// it signed for, even if the same block was also offered at other values.
type PayloadDelivered struct {
	At time.Time `json:"at"`
	Trace
	// PaidWei is the least that the block pays, as executions had found by then; nil if none had.
	// Later findings are in SubmissionExecuted.
	PaidWei   *uint256.Int `json:"paid,omitempty"`
	BlockRoot phase0.Root  `json:"block_root"`
	// MsIntoSlot is when the proposer's request came.
	MsIntoSlot int64 `json:"ms_into_slot"`
	// RevealMs is how long after the request a beacon node had taken the envelope, in chain time; nil
	// in forks before gloas.
	RevealMs *int64 `json:"reveal_ms,omitempty"`
	// Stages are those that the proposer's request passed. Facts of earlier versions and of gloas lack
	// them.
	Stages StagesUs `json:"stages_us,omitzero"`
}

// PayloadWithheld says that the relay has taken a proposer's block and does not reveal its payload
// (gloas): the slot stays without one, and the proposer without what was promised within it.
type PayloadWithheld struct {
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	BlockRoot phase0.Root      `json:"block_root"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	// Reason is one of WithheldReasons.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// WithheldReasons are why payloads are withheld: the proposer has signed two blocks; the block was
// never, or too late, the head of the beacon nodes, or none of them has taken the envelope in time;
// the envelope could not be made.
var WithheldReasons = []string{WithheldEquivocation, WithheldLate, WithheldFault}

// The reasons for which a payload is withheld.
const (
	WithheldEquivocation = "equivocation"
	WithheldLate         = "past-deadline"
	WithheldFault        = "fault"
)

// Subject implements Fact.
func (PayloadWithheld) Subject() string { return "payload_withheld" }

// PayloadRefused says that a proposer signed a header and was given no payload.
type PayloadRefused struct {
	At        time.Time     `json:"at"`
	Slot      phase0.Slot   `json:"slot"`
	BlockHash phase0.Hash32 `json:"block_hash"`
	Refusal   string        `json:"refusal"`
	Detail    string        `json:"detail,omitempty"`
}

// RegistrationStored says that a validator's registration is new or changed.
type RegistrationStored struct {
	At           time.Time           `json:"at"`
	Registration *SignedRegistration `json:"registration"`
}

// PaymentCapped says what a proposer counts of a payment within the payload of one slot (gloas).
// The last one of a proposer and slot counts.
type PaymentCapped struct {
	At       time.Time        `json:"at"`
	Slot     phase0.Slot      `json:"slot"`
	Proposer phase0.BLSPubKey `json:"proposer_pubkey"`
	MaxGwei  phase0.Gwei      `json:"max_execution_payment"`
}

// PreferencesStored says that a beacon node has told of new preferences of a proposer (gloas).
type PreferencesStored struct {
	At time.Time `json:"at"`
	// Preferences is a SignedProposerPreferences in the JSON of the Beacon API.
	Preferences json.RawMessage `json:"preferences"`
}

// StakedBidTaken says that a bid counts which a staked builder has signed itself (gloas). Its value
// is what the proposer gets for it, from the builder's stake and within the payload.
type StakedBidTaken struct {
	// Trace lacks what only the payload shows, if that is not here.
	Trace
	ReceivedAt time.Time `json:"received_at"`
	EligibleAt time.Time `json:"eligible_at"`
	// Bid is a SignedExecutionPayloadBid in the JSON of the Builder API.
	Bid json.RawMessage `json:"bid"`
	// PayloadRoot is the root of the payload, which was executed and is in the escrow; zero if the
	// builder reveals it itself.
	PayloadRoot phase0.Root `json:"payload_root,omitzero"`
}

// EnvelopeSigned says that a staked builder has signed the envelope of a payload that is in the
// escrow, for one block that has its bid (gloas).
type EnvelopeSigned struct {
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	// Envelope is a SignedBlindedExecutionPayloadEnvelope in JSON.
	Envelope json.RawMessage `json:"envelope"`
}

// PayloadLeft says that the relay has published a block with a bid of a staked builder, and that
// its payload is for the builder to reveal (gloas): the relay does not have it, or the builder has
// not signed the envelope here.
type PayloadLeft struct {
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	BlockRoot phase0.Root      `json:"block_root"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	// Reason is one of LeftReasons.
	Reason string `json:"reason"`
}

// LeftReasons are why payloads are left to their builders: the bid came without it; the builder has
// not signed its envelope here although its block was the head in time; the block was not.
var LeftReasons = []string{LeftAlone, LeftUnsigned, LeftUnseen}

// The reasons for which a payload is left to its builder.
const (
	LeftAlone    = "bid-alone"
	LeftUnsigned = "not-signed"
	LeftUnseen   = "not-head"
)

// Subject implements Fact.
func (StakedBidTaken) Subject() string { return "staked_bid_taken" }

// Subject implements Fact.
func (EnvelopeSigned) Subject() string { return "envelope_signed" }

// Subject implements Fact.
func (PayloadLeft) Subject() string { return "payload_left" }

// Subject implements Fact.
func (PaymentCapped) Subject() string { return "payment_capped" }

// Subject implements Fact.
func (PreferencesStored) Subject() string { return "preferences_stored" }

// Subject implements Fact.
func (SubmissionJudged) Subject() string { return "submission_judged" }

// Subject implements Fact.
func (TopChanged) Subject() string { return "top_changed" }

// Subject implements Fact.
func (HeaderServed) Subject() string { return "header_served" }

// Subject implements Fact.
func (PayloadDelivered) Subject() string { return "payload_delivered" }

// Subject implements Fact.
func (PayloadRefused) Subject() string { return "payload_refused" }

// Subject implements Fact.
func (RegistrationStored) Subject() string { return "registration_stored" }
