package check

import (
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
)

// gasLimit requires the one gas limit that the parent and the proposer's target lead to.
func (c *BidCase) gasLimit() string {
	want := eth.ExpectedGasLimit(*c.ParentGasLimit, c.Preferences.TargetGasLimit)
	if got := c.Bid.Message.GasLimit; got != want {
		return fmt.Sprintf("got %d, expected %d on a parent with %d for a target of %d", got, want, *c.ParentGasLimit,
			c.Preferences.TargetGasLimit)
	}
	return ""
}
