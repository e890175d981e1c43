package check

import "github.com/gavel-relay/gavel/relay"

// GasUsed requires the signed gas used to be the payload's (REL-SUB-08).
func GasUsed(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.GasUsed, c.Submission.Payload.GasUsed; got != want {
		return relay.SubmissionTraceGasUsed.With("message %d, payload %d", got, want)
	}
	return nil
}
