package submit

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// recordBlock writes down what became of a block, or has it counted.
func (p *Pipeline) recordBlock(a *attempt, refused *relay.Refused) {
	judged := judgedOf(a, a.submission.FlatTrace(), refused)
	if p.isRecorded(a, refused) {
		p.Facts.Record(judged)
	} else {
		p.Unrecorded(judged)
	}
}

// recordHeader writes down what became of a header, whatever it was: headers need an API key.
func (p *Pipeline) recordHeader(a *attempt, refused *relay.Refused) {
	trace := bareTrace(a.header.Trace)
	trace.NumBlobs, trace.BlockNumber = len(a.header.Commitments), a.header.Header.BlockNumber
	p.Facts.Record(judgedOf(a, trace, refused))
}

// judgedOf is the fact of what became of an attempt.
func judgedOf(a *attempt, trace relay.Trace, refused *relay.Refused) relay.SubmissionJudged {
	judged, s := a.judged, a.submission
	judged.Trace, judged.ReceivedAt = trace, s.ReceivedAt
	judged.Cancellable, judged.Sequence = s.Cancellable, s.Sequence
	if refused != nil {
		judged.Refusal, judged.Detail = refused.ID, refused.Detail
	}
	return judged
}

// isRecorded says whether what became of a block is written down. What anybody could have sent, in
// any number and at no cost, is only counted: refusals before a signature was found right, and of
// strangers, for whom a new key costs nothing, all that changes nothing in the auction. A
// stranger's bid that counts is a fact up to its share of the slot, and beyond it if it leads: then
// its block was simulated and pays more than all others.
func (p *Pipeline) isRecorded(a *attempt, refused *relay.Refused) bool {
	s := a.submission
	switch {
	case p.Unrecorded == nil || s.Identified:
		return true
	case refused != nil && !a.authenticated:
		return false
	case !p.isStranger(s):
		return true
	case !a.judged.EligibleAt.IsZero():
		return p.shares.add(s) || p.leads(s)
	case refused != nil || a.judged.Detail != atFloor:
		return false
	}
	return (s.Cancellable || s.Sequence > 0) && p.shares.takeBack(s)
}

// isStranger says whether nobody answers for a builder: the operator has not listed it, and no API
// key came with what it sent.
func (p *Pipeline) isStranger(s *relay.Submission) bool {
	return !s.Identified && p.Builders.Of(s.Trace.BuilderPubkey).Name == ""
}

// bareTrace is all that a signed message says.
func bareTrace(t *relay.BidTrace) relay.Trace {
	return relay.Trace{
		Slot: phase0.Slot(t.Slot), ParentHash: t.ParentHash, BlockHash: t.BlockHash, Builder: t.BuilderPubkey,
		Proposer: t.ProposerPubkey, FeeRecipient: t.ProposerFeeRecipient, GasLimit: t.GasLimit, GasUsed: t.GasUsed,
		ValueWei: t.Value,
	}
}
