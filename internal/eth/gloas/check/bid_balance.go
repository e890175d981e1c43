package check

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// minDeposit stays with a builder (MIN_DEPOSIT_AMOUNT).
const minDeposit phase0.Gwei = 1_000_000_000

// balance requires that the builder can pay the value, beside all that it owes already.
func (c *BidCase) balance() string {
	value, b := c.Bid.Message.Value, c.Builder
	free := b.Balance - min(b.Balance, minDeposit)
	if free -= min(free, b.Owed); value > free {
		return fmt.Sprintf("value %d of a balance of %d, of which %d are owed and %d have to stay", value, b.Balance, b.Owed,
			minDeposit)
	}
	return ""
}
