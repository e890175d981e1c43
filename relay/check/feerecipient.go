package check

import "github.com/gavel-relay/gavel/relay"

// FeeRecipient requires the address that the proposer registered (REL-SUB-09). Bytes are compared,
// so the letter case of the text does not matter.
func FeeRecipient(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.ProposerFeeRecipient, c.Duty.Registration.Message.FeeRecipient; got != want {
		return relay.SubmissionFeeRecipient.With("got %#x, expected %#x", got[:], want[:])
	}
	return nil
}
