package check

import "github.com/gavel-relay/gavel/relay"

// Delivered refuses a submission after the slot's payload was delivered (REL-PAY-16).
func Delivered(c *Case) *relay.Refused {
	if c.Delivered {
		return relay.SubmissionDelivered.Plain()
	}
	return nil
}
