package submit

import (
	"context"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// atFloor is the detail of a submission that is not simulated because of the floor.
const atFloor = "at or below the floor"

// answerBelowFloor accepts a bid at or below the floor without simulating it: it cannot lead. A
// cancellable one still takes back its builder's earlier bid.
func (p *Pipeline) answerBelowFloor(_ context.Context, a *attempt) *relay.Refused {
	s := a.submission
	p.mu.Lock()
	defer p.mu.Unlock()
	book := p.books.Of(s.Key())
	if floor := book.Floor(); floor.IsZero() || s.Trace.Value.Gt(floor) {
		return nil
	}
	a.answer(belowFloor, atFloor)
	if !s.Cancellable && s.Sequence == 0 {
		return nil
	}
	outcome := book.SubmitUnverified(s.Bid())
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	p.announce(s.Key(), outcome)
	return nil
}

// trusts says whether a bid counts before its block is simulated: up to its builder's collateral,
// and only while blocks can be executed at all (Config.Live).
func (p *Pipeline) trusts(a *attempt) bool {
	return p.trustsWith(a.rules.Builder, a.submission.Trace.Value)
}

func (p *Pipeline) trustsWith(builder relay.Builder, valueWei *uint256.Int) bool {
	return builder.Trusts(valueWei) && (p.Live == nil || p.Live())
}

// leads says whether a bid is the top, or would be if it counted.
func (p *Pipeline) leads(s *relay.Submission) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	top := p.books.Of(s.Key()).Top()
	if top == nil || s.Trace.Value.Gt(top.ValueWei) {
		return true
	}
	offered := s.Bid()
	return idOf(top) == idOf(&offered)
}
