package relay

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
)

// Builder is how the operator treats a builder, over all of its keys. The zero value is how a
// builder is treated that the operator has not listed. It is immutable: a change makes a new value.
type Builder struct {
	// Name is the one that the operator has chosen: 1 to 64 letters, digits, dots, dashes and
	// underscores.
	Name    string             `json:"name"`
	Pubkeys []phase0.BLSPubKey `json:"pubkeys"`
	// APIKeyHash is the SHA-256 of the builder's API key; nil when it has none. The relay never stores
	// the key itself.
	APIKeyHash *phase0.Hash32 `json:"api_key_sha256,omitempty"`
	// Blocked: all of its submissions are refused.
	Blocked bool `json:"blocked"`
	// HighPriority: its blocks are executed before those of others.
	HighPriority bool `json:"high_priority"`
	// Optimistic: its bids count before they are executed, up to the collateral in value.
	Optimistic    bool         `json:"optimistic"`
	CollateralWei *uint256.Int `json:"collateral_wei,omitempty"`
	// HeaderFirst: it may send a header first and the payload after it. This has an effect only
	// together with Optimistic.
	HeaderFirst bool `json:"header_first"`
}

// Trusts says whether a bid of a value may count before its block is executed. A bid above the
// collateral never may.
func (b Builder) Trusts(valueWei *uint256.Int) bool {
	return b.Optimistic && !b.Blocked && b.CollateralWei != nil && !valueWei.Gt(b.CollateralWei)
}

// Demotion is why a builder lost the optimistic mode, with the proof: the message that it signed,
// and the rule that its block breaks. The submission itself is kept as evidence under the block
// hash.
type Demotion struct {
	Trace
	Signature phase0.BLSSignature `json:"signature"`
	// Rule is a rule of package exec, or one of the constants below.
	Rule   string `json:"rule"`
	Detail string `json:"detail,omitempty"`
	// Delivered: the block was published already.
	Delivered bool `json:"delivered"`
}

// Reasons for a demotion other than a block that breaks a rule.
const (
	// DemotedWithheld: the payload of a header did not come in time.
	DemotedWithheld = "payload_withheld"
	// DemotedSignature: a bid was accepted because of its API key, and its signature is not the
	// builder's.
	DemotedSignature = "signature"
	// DemotedMismatch: the payload that followed a header does not fit it.
	DemotedMismatch = "payload_mismatch"
)

// BuilderChanged says how a builder is treated from now on. The operator has changed it, or a
// demotion has.
type BuilderChanged struct {
	At      time.Time `json:"at"`
	Builder Builder   `json:"builder"`
	// Removed: the builder is treated as the configuration says; if it is not listed there, as an
	// unknown one.
	Removed bool   `json:"removed,omitempty"`
	Why     string `json:"why"`
}

// BuilderDemoted says that from now on a builder's bids count only after their blocks were
// executed.
type BuilderDemoted struct {
	At   time.Time `json:"at"`
	Name string    `json:"name"`
	Demotion
}

// SubmissionExecuted says what the execution found of a bid that had counted before it.
type SubmissionExecuted struct {
	At        time.Time        `json:"at"`
	Slot      phase0.Slot      `json:"slot"`
	BlockHash phase0.Hash32    `json:"block_hash"`
	Builder   phase0.BLSPubKey `json:"builder_pubkey"`
	// ValueWei is what the bid promised; nil in facts of versions that executed a block at one value
	// only.
	ValueWei *uint256.Int `json:"value,omitempty"`
	// PaidWei is the least that the block pays, as executions have found; nil if none has found it.
	PaidWei *uint256.Int `json:"paid,omitempty"`
	// Class is valid, invalid or infrastructure. Infrastructure is final too: the relay does not try
	// again.
	Class  string `json:"class"`
	Rule   string `json:"rule,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Delivered: the block was published already.
	Delivered bool `json:"delivered"`
}

// DeliveryParts are the names of the parts that a delivery needs, as operators read them.
var DeliveryParts = []string{"guard", "escrow", "journal"}

// DeliveryPathChanged says that one of the parts that a delivery needs does not answer, or answers
// again. While any part does not answer, no headers are served.
type DeliveryPathChanged struct {
	At time.Time `json:"at"`
	// Part is the guard, the escrow or the journal.
	Part  string `json:"part"`
	Works bool   `json:"works"`
	// Detail is why it does not work.
	Detail string `json:"detail,omitempty"`
}

// KillSwitchChanged says whether headers are served. Payloads of headers that were served before
// are delivered in both cases.
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
