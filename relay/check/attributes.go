package check

import "github.com/gavel-relay/gavel/relay"

// Attributes requires that a beacon node has announced the parent and slot (REL-SUB-30).
func Attributes(c *Case) *relay.Refused {
	if c.Attributes == nil {
		return relay.SubmissionNoAttributes.With("parent %#x, slot %d", c.Submission.Trace.ParentHash[:],
			c.Submission.Trace.Slot)
	}
	return nil
}
