package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Timestamp requires the payload's timestamp to be the start of its slot (REL-SUB-13).
func Timestamp(c *Case) *relay.Refused {
	want := c.Spec.Timestamp(phase0.Slot(c.Submission.Trace.Slot))
	if got := c.Submission.Payload.Timestamp; got != want {
		return relay.SubmissionTimestamp.With("got %d, expected %d", got, want)
	}
	return nil
}
