package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// SlotNumber requires the message's slot in the payload (EIP-7843), from gloas on.
func SlotNumber(c *Case) *relay.Refused {
	if !c.Submission.Fork.HasAccessLists() {
		return nil
	}
	if got, want := c.Submission.Gloas.Slot, phase0.Slot(c.Submission.Trace.Slot); got != want {
		return relay.SubmissionSlotNumber.With("got %d, expected %d", got, want)
	}
	return nil
}
