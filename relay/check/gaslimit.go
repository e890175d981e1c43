package check

import "github.com/gavel-relay/gavel/relay"

// GasLimit requires the signed gas limit to be the payload's (REL-SUB-07). Whether it fits the
// proposer's registration is found when the block is executed.
func GasLimit(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.GasLimit, c.Submission.Payload.GasLimit; got != want {
		return relay.SubmissionTraceGasLimit.With("message %d, payload %d", got, want)
	}
	return nil
}
