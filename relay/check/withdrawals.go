package check

import (
	"github.com/gavel-relay/gavel/relay"
)

// Withdrawals requires the announced withdrawals in their order (REL-SUB-15). There are at most 16,
// so comparing them is cheaper than hashing them.
func Withdrawals(c *Case) *relay.Refused {
	if !c.Submission.Fork.HasWithdrawals() {
		return nil
	}
	got, want := c.Submission.Payload.Withdrawals, c.Attributes.Withdrawals
	if len(got) != len(want) {
		return relay.SubmissionWithdrawals.With("got %d withdrawals, expected %d", len(got), len(want))
	}
	for i := range got {
		if *got[i] != *want[i] {
			return relay.SubmissionWithdrawals.With("withdrawal %d is %s, expected %s", i, got[i], want[i])
		}
	}
	return nil
}
