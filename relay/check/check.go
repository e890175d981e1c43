// Package check holds the rules that a submission must keep before its block is worth executing,
// one file each, in one ordered list: the cheap ones first, the signature last. All are pure: what
// they need to know is in the Case. The first refusal is the answer.
//
//	slot ─ builder ─ delivered ─ duty ─ proposer ─ fee recipient ─ timestamp ─ trace = payload
//	     ─ attributes ─ number ─ randao ─ withdrawals ─ blobs ─ signature
package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Case is a submission with all that the rules compare it with. Nothing in it may change while the
// checks run.
type Case struct {
	Spec       *eth.Spec
	Submission *relay.Submission
	// HeadSlot is the slot of the chain's head, NowSlot the slot that runs by the clock. After missed
	// slots they differ.
	HeadSlot, NowSlot phase0.Slot
	// Builder is how the operator treats the submission's builder; the zero value for one that the
	// operator has not listed.
	Builder relay.Builder
	// Delivered: a payload of this slot, or of a later one, was delivered already.
	Delivered bool
	// Duty is the slot's duty with the proposer's registration; nil if there is none or the proposer
	// has not registered.
	Duty *relay.RegisteredDuty
	// Attributes are those of the submission's parent and slot; nil if no beacon node has announced
	// them.
	Attributes *relay.Attributes
	// Header is a bid whose payload follows; then Submission stands in for it (see StandIn) and
	// Headers are the rules.
	Header *relay.HeaderSubmission
	// SignatureLater skips the signature, which the caller verifies later. It is set if an API key has
	// shown whose bid it is.
	SignatureLater bool
	// Verified is the result of verifying the signature before the whole submission was here; nil if
	// that was not done.
	Verified *Verified
}

// Check is one rule. Do returns nil for a submission that keeps it.
type Check struct {
	Name string // a short name of the rule
	Do   func(*Case) *relay.Refused
}

// All are the rules in their order.
var All = []Check{
	{"slot", Slot},
	{"builder", Builder},
	{"delivered", Delivered},
	{"duty", Duty},
	{"proposer", Proposer},
	{"feerecipient", FeeRecipient},
	{"timestamp", Timestamp},
	{"blockhash", BlockHash},
	{"parenthash", ParentHash},
	{"gaslimit", GasLimit},
	{"gasused", GasUsed},
	{"attributes", Attributes},
	{"blocknumber", BlockNumber},
	{"randao", PrevRandao},
	{"withdrawals", Withdrawals},
	{"blobs", Blobs},
	{"signature", Signature},
}

// Headers are the rules for a bid whose payload follows, in their order: those of All, with those
// of withdrawals and blobs replaced by what a header shows of them.
var Headers = []Check{
	{"slot", Slot},
	{"builder", Builder},
	{"delivered", Delivered},
	{"duty", Duty},
	{"proposer", Proposer},
	{"feerecipient", FeeRecipient},
	{"timestamp", Timestamp},
	{"blockhash", BlockHash},
	{"parenthash", ParentHash},
	{"gaslimit", GasLimit},
	{"gasused", GasUsed},
	{"attributes", Attributes},
	{"blocknumber", BlockNumber},
	{"randao", PrevRandao},
	{"headerwithdrawals", HeaderWithdrawals},
	{"headerblobs", HeaderBlobs},
	{"signature", Signature},
}

// OfMessage are the rules that can be checked when only the message of a submission has arrived.
var OfMessage = []Check{
	{"slot", Slot},
	{"builder", Builder},
	{"delivered", Delivered},
	{"duty", Duty},
	{"proposer", Proposer},
	{"feerecipient", FeeRecipient},
	{"attributes", Attributes},
}

// OfBlock are the rules that can be checked before the proofs and blobs of a submission have
// arrived: all but the last two.
var OfBlock = All[:len(All)-2]

// BeforeSignature are the rules of All that cost little: all but the signature, which is the last.
var BeforeSignature = All[:len(All)-1]

// Run applies all rules in order and returns the first refusal, nil if there is none.
func Run(c *Case) *relay.Refused {
	if c.Header != nil {
		return First(Headers, c)
	}
	return First(All, c)
}

// First applies some rules in order and returns the first refusal, nil if there is none.
func First(rules []Check, c *Case) *relay.Refused {
	for _, check := range rules {
		if refused := check.Do(c); refused != nil {
			return refused
		}
	}
	return nil
}
