package submit

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// atFloor is the detail of a submission that is not simulated because of the floor.
const atFloor = "at or below the floor"

// answerBelowFloor accepts a bid at or below the floor without simulating it: it cannot lead. A
// cancellable one still takes back its builder's earlier bid.
func (p *Pipeline) answerBelowFloor(ctx context.Context, a *attempt) *relay.Refused {
	s := a.submission
	if !p.isBelowFloor(s) {
		return nil
	}
	a.answer(belowFloor, atFloor)
	if !s.Cancellable && s.Sequence == 0 {
		return nil
	}
	if p.shared != nil {
		return p.replaceShared(ctx, s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	outcome := p.books.Of(s.Key()).SubmitUnverified(s.Bid())
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	p.announce(s.Key(), outcome)
	return nil
}

// isBelowFloor says whether a bid is at or below the floor.
func (p *Pipeline) isBelowFloor(s *relay.Submission) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.book(s.Key()).AtFloor(s.Trace.Value)
}

// trusts says whether a bid counts before its block is simulated: up to its builder's collateral,
// and only while blocks can be executed at all (Config.Live).
func (p *Pipeline) trusts(a *attempt) bool {
	t := a.submission.Trace
	return p.trustsWith(a.rules.Builder, t.Value) && !p.isDistrusted(phase0.Slot(t.Slot), t.BuilderPubkey)
}

func (p *Pipeline) trustsWith(builder relay.Builder, valueWei *uint256.Int) bool {
	return builder.Trusts(valueWei) && (p.Live == nil || p.Live())
}

// leads says whether a bid is the top, or would be if it counted.
func (p *Pipeline) leads(s *relay.Submission) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	top := p.book(s.Key()).Top()
	if top == nil || s.Trace.Value.Gt(top.ValueWei) {
		return true
	}
	offered := s.Bid()
	return idOf(top) == idOf(&offered)
}
