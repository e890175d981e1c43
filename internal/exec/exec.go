// Package exec is how services use an execution layer: to validate builders' blocks, to simulate
// bundles, and to follow the chain. This package has the types and interfaces. Sub-packages
// implement them (chain: on a go-ethereum chain in this process; node: with execution nodes over
// JSON-RPC).
package exec

import (
	"context"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Block is a builder's block together with what it was promised to be.
type Block struct {
	Fork     eth.Fork
	Payload  *payload.Payload
	Blobs    *payload.Blobs             // nil before deneb
	Requests *electra.ExecutionRequests // nil before electra
	Gloas    *payload.Gloas             // what gloas adds to payload and requests; nil before gloas
	// ParentBeaconRoot is not part of the payload; it comes from the proposer's payload attributes. It
	// counts from deneb on.
	ParentBeaconRoot phase0.Root
	// RegisteredGasLimit is the gas limit that the proposer asked for.
	RegisteredGasLimit uint64
	// FeeRecipient is to receive at least ValueWei by this block.
	FeeRecipient bellatrix.ExecutionAddress
	ValueWei     *uint256.Int
	// Trace and Signature are the builder's signed message. A validator in this process does not
	// need them; nodes take them as part of the request.
	Trace     *builderv1.BidTrace
	Signature phase0.BLSSignature
	// Priority and Source decide which blocks wait when not all can be executed at once.
	Priority Priority
	Source   Source
}

// Source says from whom a block comes: the sources of one priority take turns.
type Source struct {
	// Address is the network that the block came from. A sender with many addresses counts as many
	// sources, so Address should be so wide a network that another one costs money.
	Address string
	// Key is the builder's public key. Anybody can make as many keys as they like.
	Key phase0.BLSPubKey
}

// Priority orders blocks that wait to be executed. The zero value is Normal. A builder's claims do
// not raise it: neither a bid's value nor a new key does.
type Priority int8

// The priorities, from last to first.
const (
	// Last is for strangers that have sent an invalid block in this slot.
	Last Priority = iota - 1
	// Normal is for strangers: builders that the operator has not listed and that have no record of
	// valid blocks.
	Normal
	// Known is for listed builders and for builders with a record of valid blocks.
	Known
	// High is for bids of known builders that would lead, and for builders that the operator
	// prefers.
	High
)

// Stranger says that the sender is neither listed nor has a record of valid blocks.
func (p Priority) Stranger() bool { return p <= Normal }

// Class says whether a verdict is about the block or about our own systems.
type Class uint8

// The three classes. Only Invalid counts against the builder (decision 11).
const (
	Valid          Class = iota
	Invalid              // the block breaks a rule; Verdict.Rule names it
	Infrastructure       // the block could not be judged: timeout, node down, parent's state missing (yet)
)

// Rule names the rule that an invalid block breaks, or the reason why a block could not be judged.
// The names are stable: they appear in refusals, metrics and docs.
type Rule string

// The rules, in the order in which they are checked, and then the reasons of class Infrastructure.
// REL-SUB-… are clauses (docs/clauses.md).
const (
	RuleBlockHash    Rule = "block_hash"    // REL-SUB-18: recomputed hash, versioned hashes, requests hash (REL-SUB-35)
	RuleParent       Rule = "parent"        // the parent is not known here (class Infrastructure)
	RuleHeader       Rule = "header"        // base fee, excess blob gas, timestamps, header form
	RuleGasLimit     Rule = "gas_limit"     // REL-SUB-19
	RuleBody         Rule = "body"          // transaction root, withdrawals root, block size
	RuleExecution    Rule = "execution"     // a transaction cannot be applied
	RuleState        Rule = "state"         // REL-SUB-17: state root, receipts root, bloom, gas used, requests
	RulePayment      Rule = "payment"       // REL-SUB-16
	RuleBlobs        Rule = "blobs"         // REL-SUB-28: counts and proofs
	RuleInterrupted  Rule = "interrupted"   // the context ended first (class Infrastructure)
	RuleUnsupported  Rule = "unsupported"   // this validator has no form for the fork (class Infrastructure)
	RuleMissingState Rule = "missing_state" // the parent is known but its state is gone (class Infrastructure)
	// too many blocks wait: of this sender, or of all senders (class Infrastructure)
	RuleCrowded     Rule = "crowded"
	RuleUnavailable Rule = "unavailable" // no node answers (class Infrastructure)
	// a node refused it for a reason that is none of the rules above (class Invalid)
	RuleRejected Rule = "rejected"
)

// Verdict is the result of a validation.
type Verdict struct {
	Class Class
	// Rule is empty exactly when the class is Valid.
	Rule   Rule
	Detail string
	// PaidWei is what the fee recipient received, at least. It is nil unless the class is Valid, or
	// Invalid by RulePayment and the validator knows the amount.
	PaidWei *uint256.Int
}

// Validator validates blocks. It keeps nothing of the block, inserts nothing into any chain, and is
// safe for concurrent use.
type Validator interface {
	Validate(ctx context.Context, block *Block) Verdict
}
