package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Slot requires a slot after the head's that is not over by the clock (REL-SUB-11), because no
// block can be built for a slot that has a block or was missed.
func Slot(c *Case) *relay.Refused {
	switch slot := phase0.Slot(c.Submission.Trace.Slot); {
	case slot <= c.HeadSlot:
		return relay.SubmissionPastSlot.With("slot %d, head is at slot %d", slot, c.HeadSlot)
	case slot < c.NowSlot:
		return relay.SubmissionPastSlot.With("slot %d, it is slot %d now", slot, c.NowSlot)
	}
	return nil
}
