package submit

import (
	"context"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// proven is for blocks that enter no auction: a bid that a staked builder has signed itself is for
// them, and only the proof of what they pay is needed here.
var proven = []step{
	timeSteps(observe.Check, (*Pipeline).checkUnsigned),
	timeSteps(observe.Simulate, (*Pipeline).simulate),
	timeSteps(observe.Eligible, (*Pipeline).escrowPayload, (*Pipeline).provePayment),
}

// Prove shows that a block is valid and pays what its message says, and puts its payload into the
// escrow. Nobody has signed the message, which the relay has made of a bid.
func (p *Pipeline) Prove(ctx context.Context, s *relay.Submission) *relay.Refused {
	a := &attempt{submission: s}
	defer p.settle(a)
	return p.run(ctx, a, proven)
}

// checkUnsigned applies the rules of relay/check but for the signature.
func (p *Pipeline) checkUnsigned(_ context.Context, a *attempt) *relay.Refused {
	a.rules = p.caseOf(a.submission)
	return check.UpTo(check.Sidecars, a.rules)
}
