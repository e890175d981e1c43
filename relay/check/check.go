// Package check holds the rules that a submission must keep before its block is worth executing,
// one file each, in one ordered list: the cheap ones first, the signature last. All are pure: what
// they need to know is in the Case. The first refusal answers.
//
//	slot ─ builder ─ delivered ─ duty ─ proposer ─ fee recipient ─ timestamp ─ trace = payload
//	     ─ attributes ─ number ─ randao ─ withdrawals ─ blobs ─ signature
package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Case is a submission with all that the rules compare it to. Nothing in it may change while the
// checks run.
type Case struct {
	Spec       *eth.Spec
	Submission *relay.Submission
	// HeadSlot is the slot of the chain's head, NowSlot the one that the clock says is running: after
	// missed slots they differ.
	HeadSlot, NowSlot phase0.Slot
	// Builder is how the operator treats the submission's builder; the zero value for one that nobody
	// has listed.
	Builder relay.Builder
	// Delivered: a payload of this slot, or a later one, was already revealed.
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
	// SignatureLater leaves the signature for when the bid counts already: an API key has shown whose
	// it is.
	SignatureLater bool
	// Verified is what was found of the signature before all of the submission was here; nil if
	// nobody has looked.
	Verified *Verified
}

// Check is one rule. It returns nil for a submission that keeps it.
type Check struct {
	Name string // the file's name, also the stage in metrics
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

// Headers are the rules for a bid whose payload follows, in their order: those of All that a header
// can keep.
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

// OfMessage are the rules that the message alone can break: what is worth knowing of a submission
// of which nothing else is here.
var OfMessage = []Check{
	{"slot", Slot},
	{"builder", Builder},
	{"delivered", Delivered},
	{"duty", Duty},
	{"proposer", Proposer},
	{"feerecipient", FeeRecipient},
	{"attributes", Attributes},
}

// OfBlock are the rules that a submission can break before its proofs and blobs are here: all but
// the last two.
var OfBlock = All[:len(All)-2]

// BeforeSignature are the rules of All that cost next to nothing: all but the last.
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
