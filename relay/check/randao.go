package check

import "github.com/gavel-relay/gavel/relay"

// PrevRandao requires the announced randomness (REL-SUB-14).
func PrevRandao(c *Case) *relay.Refused {
	if got, want := c.Submission.Payload.PrevRandao, c.Attributes.PrevRandao; got != want {
		return relay.SubmissionPrevRandao.With("got %#x, expected %#x", got[:], want[:])
	}
	return nil
}
