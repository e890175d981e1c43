package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Slot wants a slot after the head's (S03): no block can be built for a slot that is taken.
func Slot(c *Case) *relay.Refused {
	if slot := phase0.Slot(c.Submission.Trace.Slot); slot <= c.HeadSlot {
		return relay.SubmissionPastSlot.With("slot %d, head is at slot %d", slot, c.HeadSlot)
	}
	return nil
}
