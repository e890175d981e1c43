package submit

import (
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// WorthVerifying implements speculate.Auction.
func (p *Pipeline) WorthVerifying(message *relay.Submission) bool {
	return check.UpTo(check.Message, p.caseOf(message)) == nil
}

// WorthSigning implements speculate.Auction. It says whether the bid keeps all rules that can be
// checked without proofs and blobs, would be accepted optimistically, and would lead now.
func (p *Pipeline) WorthSigning(block *relay.Submission) bool {
	if (block.Cancellable && !p.Cancellations) || block.Trace.Value.IsZero() || len(block.Payload.Transactions) == 0 {
		return false
	}
	rules := p.caseOf(block)
	return check.UpTo(check.Block, rules) == nil && p.trustsWith(rules.Builder, block.Trace.Value) &&
		len(p.awaitedOf(block)) == 0 && p.leads(block)
}
