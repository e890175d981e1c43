package check

import "github.com/gavel-relay/gavel/relay"

// Proposer requires the public key of the slot's duty (REL-SUB-10). A bid for another key could
// never be served.
func Proposer(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.ProposerPubkey, c.Duty.Proposer; got != want {
		return relay.SubmissionWrongProposer.With("got %#x, expected %#x", got[:], want[:])
	}
	return nil
}
