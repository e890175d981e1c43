// Package check holds the rules that a submission must keep before its block is worth executing,
// one file each, in one ordered table: the cheap ones first, the signature last. All are pure: what
// they need to know is in the Case. The first refusal is the answer.
//
//	slot ─ builder ─ delivered ─ duty ─ proposer ─ fee recipient ─ timestamp ─ trace = payload
//	     ─ attributes ─ number ─ slot number ─ randao ─ withdrawals ─ blobs ─ signature
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
	// Header is a bid whose payload follows; then Submission stands in for it (see
	// SubmissionOfHeader).
	Header *relay.HeaderSubmission
	// SignatureLater skips the signature, which the caller verifies later. It is set if an API key has
	// shown whose bid it is.
	SignatureLater bool
	// Verified is the result of verifying the signature before the whole submission was here; nil if
	// that was not done.
	Verified *Verified
}

// Part is how much of a submission a rule looks at. The parts are in the order in which they
// arrive; a rule may look at all parts before its own. What the relay itself knows is always there.
type Part int

// Parts of a submission.
const (
	Message  Part = iota // what the builder signs: the bid trace
	Header               // what a header says of the payload
	Block                // the whole payload
	Sidecars             // commitments, proofs and blobs
	Signed               // the signature: it costs most, and so it is verified last
)

// Bid is which bids a rule is for.
type Bid int

// Bids.
const (
	Both       Bid = iota
	Whole          // a bid that comes with its payload
	HeaderOnly     // a bid whose payload follows
)

// Check is one row of the table: a rule, when it can be checked and what it refuses by.
type Check struct {
	Name    string // a short name of the rule
	For     Bid
	Needs   Part
	Do      func(*Case) *relay.Refused // returns nil for a submission that keeps the rule
	Refuses []relay.Refusal            // one of these, each of which names its clauses
}

// Table has the rules in the order in which they run. A bid whose payload follows shows its
// withdrawals as a root and its blobs as commitments, and so has rules of its own for them.
var Table = []Check{
	{"slot", Both, Message, Slot, []relay.Refusal{relay.SubmissionPastSlot}},
	{"builder", Both, Message, Builder, []relay.Refusal{relay.SubmissionBlocked}},
	{"delivered", Both, Message, Delivered, []relay.Refusal{relay.SubmissionDelivered}},
	{"duty", Both, Message, Duty, []relay.Refusal{relay.SubmissionNoDuty}},
	{"proposer", Both, Message, Proposer, []relay.Refusal{relay.SubmissionWrongProposer}},
	{"fee recipient", Both, Message, FeeRecipient, []relay.Refusal{relay.SubmissionFeeRecipient}},
	{"timestamp", Both, Header, Timestamp, []relay.Refusal{relay.SubmissionTimestamp}},
	{"block hash", Both, Header, BlockHash, []relay.Refusal{relay.SubmissionBlockHash}},
	{"parent hash", Both, Header, ParentHash, []relay.Refusal{relay.SubmissionParentHash}},
	{"gas limit", Both, Header, GasLimit, []relay.Refusal{relay.SubmissionTraceGasLimit}},
	{"gas used", Both, Header, GasUsed, []relay.Refusal{relay.SubmissionTraceGasUsed}},
	{"attributes", Both, Message, Attributes, []relay.Refusal{relay.SubmissionNoAttributes}},
	{"block number", Both, Header, BlockNumber, []relay.Refusal{relay.SubmissionBlockNumber}},
	{"slot number", Whole, Block, SlotNumber, []relay.Refusal{relay.SubmissionSlotNumber}},
	{"prev_randao", Both, Header, PrevRandao, []relay.Refusal{relay.SubmissionPrevRandao}},
	{"withdrawals", Whole, Block, Withdrawals, []relay.Refusal{relay.SubmissionWithdrawals}},
	{"withdrawals", HeaderOnly, Header, HeaderWithdrawals, []relay.Refusal{relay.SubmissionWithdrawals}},
	{"blobs", Whole, Sidecars, Blobs, []relay.Refusal{relay.SubmissionBlobCounts, relay.SubmissionBlobLimit}},
	{"blobs", HeaderOnly, Header, HeaderBlobs, []relay.Refusal{relay.SubmissionBlobLimit}},
	{"signature", Both, Signed, Signature, []relay.Refusal{relay.SubmissionBuilderKey, relay.SubmissionSignature}},
}

// Run applies all rules in order and returns the first refusal, nil if there is none.
func Run(c *Case) *relay.Refused { return UpTo(Signed, c) }

// UpTo applies, in order, the rules that look at no more of a submission than a part and those
// before it. It returns the first refusal, nil if there is none.
func UpTo(part Part, c *Case) *relay.Refused {
	bid := Whole
	if c.Header != nil {
		bid = HeaderOnly
	}
	for _, rule := range Table {
		if rule.Needs > part || rule.For != Both && rule.For != bid {
			continue
		}
		if refused := rule.Do(c); refused != nil {
			return refused
		}
	}
	return nil
}
