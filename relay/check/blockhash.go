package check

import "github.com/gavel-relay/gavel/relay"

// BlockHash wants message and payload to name the same block (REL-SUB-05). That the payload has
// this hash is shown by executing it.
func BlockHash(c *Case) *relay.Refused {
	if got, want := c.Submission.Trace.BlockHash, c.Submission.Payload.BlockHash; got != want {
		return relay.SubmissionBlockHash.With("message %#x, payload %#x", got[:], want[:])
	}
	return nil
}
