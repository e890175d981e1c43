package check

import "github.com/gavel-relay/gavel/relay"

// Duty requires the slot's proposer to be known and registered (REL-SUB-12). Otherwise no proposer
// would ask for the bid.
func Duty(c *Case) *relay.Refused {
	if c.Duty == nil || c.Duty.Registration == nil {
		return relay.SubmissionNoDuty.With("slot %d", c.Submission.Trace.Slot)
	}
	return nil
}
