package check

import "github.com/gavel-relay/gavel/relay"

// ParentHash requires message and payload to name the same parent (REL-SUB-06), because the
// message's parent says which auction the bid is in.
func ParentHash(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.ParentHash, c.Submission.Payload.ParentHash; got != want {
		return relay.SubmissionParentHash.With("message %#x, payload %#x", got[:], want[:])
	}
	return nil
}
