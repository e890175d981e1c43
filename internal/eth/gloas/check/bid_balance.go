package check

import (
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// balance requires that the builder can pay the value, beside all that it owes already.
func (c *BidCase) balance() string {
	value, b := c.Bid.Message.Value, c.Builder
	free := b.Balance - min(b.Balance, gloas.MinDeposit)
	if free -= min(free, b.Owed); value > free {
		return fmt.Sprintf("value %d of a balance of %d, of which %d are owed and %d have to stay", value, b.Balance, b.Owed,
			gloas.MinDeposit)
	}
	return ""
}
