package submit

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// recordBlock records how a block ended, as a fact or as a count.
func (p *Pipeline) recordBlock(a *attempt, refused *relay.Refused) {
	judged := describeJudged(a, a.submission.FlatTrace(), refused)
	if p.isRecorded(a, refused) {
		p.Facts.Record(judged)
	} else {
		p.Unrecorded(judged)
	}
}

// recordHeader records how a header ended. It is always a fact, since headers need an API key.
func (p *Pipeline) recordHeader(a *attempt, refused *relay.Refused) {
	trace := bareTrace(a.header.Trace)
	trace.NumBlobs, trace.BlockNumber = len(a.header.Commitments), a.header.Header.BlockNumber
	p.Facts.Record(describeJudged(a, trace, refused))
}

// describeJudged returns the fact of an attempt.
func describeJudged(a *attempt, trace relay.Trace, refused *relay.Refused) relay.SubmissionJudged {
	judged, s := a.judged, a.submission
	judged.Trace, judged.ReceivedAt = trace, s.ReceivedAt
	judged.Cancellable, judged.Sequence = s.Cancellable, s.Sequence
	if refused != nil {
		judged.Refusal, judged.Detail = refused.ID, refused.Detail
	}
	return judged
}

// isRecorded says whether the end of a block becomes a fact. What anybody could send in any number
// at no cost is only counted: refusals before a signature was found right, and whatever strangers
// send that does not change the auction, since a new key costs them nothing. A stranger's bid that
// counts becomes a fact up to the stranger's share of the slot. Above the share it does so only if
// it leads, because then its block was simulated and pays more than all others.
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
		return p.factShares.add(s) || p.leads(s)
	case refused != nil || a.judged.Detail != atFloor:
		return false
	}
	return (s.Cancellable || s.Sequence > 0) && p.factShares.takeBack(s)
}

// isStranger says whether the sender is unknown: the operator has not listed the builder, and no
// API key came with the submission.
func (p *Pipeline) isStranger(s *relay.Submission) bool {
	return !s.Identified && p.Builders.Of(s.Trace.BuilderPubkey).Name == ""
}

// bareTrace is the trace of a signed message, without what only a payload shows.
func bareTrace(t *relay.BidTrace) relay.Trace {
	return relay.Trace{
		Slot: phase0.Slot(t.Slot), ParentHash: t.ParentHash, BlockHash: t.BlockHash, Builder: t.BuilderPubkey,
		Proposer: t.ProposerPubkey, FeeRecipient: t.ProposerFeeRecipient, GasLimit: t.GasLimit, GasUsed: t.GasUsed,
		ValueWei: t.Value,
	}
}
