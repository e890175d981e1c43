package check

import "github.com/gavel-relay/gavel/relay"

// BlockNumber wants the number after the announced parent's: a wrong one looks to a validation node
// like a parent that it does not have, which is never held against a builder.
func BlockNumber(c *Case) *relay.Refused {
	if got, want := c.Submission.Payload.BlockNumber, c.Attributes.ParentNumber+1; got != want {
		return relay.SubmissionBlockNumber.With("got %d, expected %d", got, want)
	}
	return nil
}
