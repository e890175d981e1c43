// Package exec is the execution layer next to us: it says whether a builder's block is valid and
// pays what it promises. The vocabulary is here; the manners are sub-packages (chain: in this
// process, on a go-ethereum chain; node: by nodes that one can ask).
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
	// ParentBeaconRoot is not part of the payload; it comes from the proposer's payload attributes. It
	// counts from deneb on.
	ParentBeaconRoot phase0.Root
	// RegisteredGasLimit is the gas limit that the proposer asked for.
	RegisteredGasLimit uint64
	// FeeRecipient is to receive at least ValueWei by this block.
	FeeRecipient bellatrix.ExecutionAddress
	ValueWei     *uint256.Int
	// Trace and Signature are the builder's signed message. Who only executes does not need them;
	// nodes by URL take them as part of their request.
	Trace     *builderv1.BidTrace
	Signature phase0.BLSSignature
	// Priority and Source say who waits when not all can be executed at once.
	Priority Priority
	Source   Source
}

// Source is who has a block executed: those of one priority take turns.
type Source struct {
	// Address is where the block came from: who comes by many is another one each time, so it should
	// be a network that costs something.
	Address string
	// Key is the builder's, which anybody can make as many of as it likes.
	Key phase0.BLSPubKey
}

// Priority orders blocks that wait to be executed. The zero value is Normal. None of them is bought
// by a claim: neither by a bid's value nor by a key.
type Priority int8

// The priorities, from last to first.
const (
	// Last is for strangers of whom a block of this slot was invalid.
	Last Priority = iota - 1
	// Normal is for strangers: builders that nobody has listed and that have no record of valid
	// blocks.
	Normal
	// Known is for listed builders and those with a record.
	Known
	// High is for bids of theirs that would lead, and for builders that the operator prefers.
	High
)

// Stranger says that nothing speaks for whoever sent the block.
func (p Priority) Stranger() bool { return p <= Normal }

// Class is what a verdict is about: the block, or us.
type Class uint8

// The three classes. Only Invalid speaks against the builder (decision 11).
const (
	Valid          Class = iota
	Invalid              // the block breaks a rule; Verdict.Rule names it
	Infrastructure       // we could not find out: timeout, node down, parent state not here (yet)
)

// Rule names the rule that an invalid block breaks. Rules are stable: they appear in refusals,
// metrics and docs.
type Rule string

// The rules, in the order in which they are checked. Letters and digits in the comments are rows of
// the submission checks.
const (
	RuleBlockHash    Rule = "block_hash"    // S19: recomputed hash, versioned hashes (S31), requests hash (S33)
	RuleParent       Rule = "parent"        // S22: the parent is not known here (class Infrastructure)
	RuleHeader       Rule = "header"        // S23: base fee, excess blob gas, timestamps, header form
	RuleGasLimit     Rule = "gas_limit"     // S20
	RuleBody         Rule = "body"          // transaction root, withdrawals root, block size (S34)
	RuleExecution    Rule = "execution"     // a transaction cannot be applied
	RuleState        Rule = "state"         // S24: state root, receipts root, bloom, gas used, requests
	RulePayment      Rule = "payment"       // S25–S27
	RuleBlobs        Rule = "blobs"         // S29, S32: counts and proofs
	RuleInterrupted  Rule = "interrupted"   // the context ended first (class Infrastructure)
	RuleUnsupported  Rule = "unsupported"   // this manner cannot judge the fork (class Infrastructure)
	RuleMissingState Rule = "missing_state" // the parent is known but its state is gone (class Infrastructure)
	RuleCrowded      Rule = "crowded"       // too many blocks wait: of this sender, or of all (class Infrastructure)
	RuleUnavailable  Rule = "unavailable"   // there is nobody who could execute it: no node answers (class Infrastructure)
	RuleRejected     Rule = "rejected"      // refused by a node for a reason that none of the rules above says
)

// Verdict is the result of a validation.
type Verdict struct {
	Class Class
	// Rule is empty exactly when the class is Valid.
	Rule   Rule
	Detail string
	// PaidWei is what the fee recipient received, at least; nil unless Valid, or Invalid by
	// RulePayment from who can say.
	PaidWei *uint256.Int
}

// Validator judges blocks. It keeps nothing of the block, inserts nothing into any chain, and is
// safe for concurrent use.
type Validator interface {
	Validate(ctx context.Context, block *Block) Verdict
}
