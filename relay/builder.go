package relay

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Builder is how the operator treats a builder, over all of its keys. The zero value is how
// builders are treated that nobody has listed. It is immutable: a change is another value.
type Builder struct {
	// Name is the operator's own: 1 to 64 letters, digits, dots, dashes and underscores.
	Name    string             `json:"name"`
	Pubkeys []phase0.BLSPubKey `json:"pubkeys"`
	// APIKeyHash is the SHA-256 of the builder's API key; nil when it has none. The key itself is
	// nowhere in the relay.
	APIKeyHash *phase0.Hash32 `json:"api_key_sha256,omitempty"`
	// Blocked refuses all of its submissions.
	Blocked bool `json:"blocked"`
	// HighPriority has its blocks executed before those of others.
	HighPriority bool `json:"high_priority"`
	// Optimistic lets its bids count before they are executed, up to the collateral in value.
	Optimistic    bool         `json:"optimistic"`
	CollateralWei *uint256.Int `json:"collateral_wei,omitempty"`
	// HeaderFirst lets it bid with a header and send the payload after; it counts only with
	// Optimistic.
	HeaderFirst bool `json:"header_first"`
}

// Trusts says whether a bid of some value may count before its block is executed: never above the
// collateral.
func (b Builder) Trusts(valueWei *uint256.Int) bool {
	return b.Optimistic && !b.Blocked && b.CollateralWei != nil && !valueWei.Gt(b.CollateralWei)
}

// Demotion is why a builder lost the optimistic mode, with what proves it: the message that it
// signed, and the rule that its block breaks. The submission itself is kept as evidence under the
// block hash.
type Demotion struct {
	Trace
	Signature phase0.BLSSignature `json:"signature"`
	// Rule is a rule of exec, or one of the two below.
	Rule   string `json:"rule"`
	Detail string `json:"detail,omitempty"`
	// Delivered: a proposer had already signed for the block.
	Delivered bool `json:"delivered"`
}

// What a builder is demoted for besides a block that breaks a rule.
const (
	// DemotedWithheld: the payload of a header did not come in time.
	DemotedWithheld = "payload_withheld"
	// DemotedSignature: the message of a bid that was taken on the word of an API key is not signed by
	// the builder.
	DemotedSignature = "signature"
	// DemotedMismatch: the payload that followed a header is another one.
	DemotedMismatch = "payload_mismatch"
)

// BuilderChanged says how a builder is treated from now on. It is the operator's doing, or follows
// from a demotion.
type BuilderChanged struct {
	At      time.Time `json:"at"`
	Builder Builder   `json:"builder"`
	// Removed: the builder is treated as the configuration says, or as an unknown one.
	Removed bool   `json:"removed,omitempty"`
	Why     string `json:"why"`
}

// BuilderDemoted says that a builder's bids count only once they are executed, from now on.
type BuilderDemoted struct {
	At   time.Time `json:"at"`
	Name string    `json:"name"`
	Demotion
}

// SubmissionExecuted says what became of a bid that counted before its block was executed.
type SubmissionExecuted struct {
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	// ValueWei is what the bid promised; nil in facts of versions that executed a block at one value
	// only.
	ValueWei *uint256.Int `json:"value,omitempty"`
	// PaidWei is what executions have found that the block pays, at least; nil if none has.
	PaidWei *uint256.Int `json:"paid,omitempty"`
	// Class is valid, invalid or infrastructure; the last is final: nobody will try again.
	Class  string `json:"class"`
	Rule   string `json:"rule,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Delivered: a proposer had already signed for the block.
	Delivered bool `json:"delivered"`
}

// DeliveryParts are what a delivery needs, as operators call them.
var DeliveryParts = []string{"guard", "escrow", "journal"}

// DeliveryPathChanged says that one of the parts that a delivery needs does not answer, or answers
// again. While one does not, no headers are served.
type DeliveryPathChanged struct {
	At time.Time `json:"at"`
	// Part is the guard, the escrow or the journal.
	Part  string `json:"part"`
	Works bool   `json:"works"`
	// Detail is why it does not work.
	Detail string `json:"detail,omitempty"`
}

// KillSwitchChanged says whether headers are served. Payloads of headers that were served are
// honoured all the same.
type KillSwitchChanged struct {
	At  time.Time `json:"at"`
	On  bool      `json:"on"`
	Why string    `json:"why"`
}

// Subject implements Fact.
func (BuilderChanged) Subject() string { return "builder_changed" }

// Subject implements Fact.
func (BuilderDemoted) Subject() string { return "builder_demoted" }

// Subject implements Fact.
func (SubmissionExecuted) Subject() string { return "submission_executed" }

// Subject implements Fact.
func (DeliveryPathChanged) Subject() string { return "delivery_path_changed" }

// Subject implements Fact.
func (KillSwitchChanged) Subject() string { return "kill_switch_changed" }
