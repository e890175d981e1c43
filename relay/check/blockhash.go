package check

import "github.com/gavel-relay/gavel/relay"

// BlockHash requires message and payload to name the same block (REL-SUB-05). Whether the payload
// has this hash is found when it is executed.
func BlockHash(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.BlockHash, c.Submission.Payload.BlockHash; got != want {
		return relay.SubmissionBlockHash.With("message %#x, payload %#x", got[:], want[:])
	}
	return nil
}
