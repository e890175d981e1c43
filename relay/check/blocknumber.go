package check

import "github.com/gavel-relay/gavel/relay"

// BlockNumber requires the number after the announced parent's. Without this rule a validation node
// would take a wrong number for a parent that it does not have, which no builder is blamed for.
// From gloas on the parent's number is not announced, and only the node can tell.
func BlockNumber(c *Case) *relay.Refused {
	if c.Submission.Fork.HasAccessLists() {
		return nil
	}
	if got, want := c.Submission.Payload.BlockNumber, c.Attributes.ParentNumber+1; got != want {
		return relay.SubmissionBlockNumber.With("got %d, expected %d", got, want)
	}
	return nil
}
