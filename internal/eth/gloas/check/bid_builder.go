package check

import (
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// active requires a builder whose deposit is final, who does not exit, and whose version counts
// (consensus-specs, is_active_builder).
func (c *BidCase) active() string {
	switch index, b := c.Bid.Message.BuilderIndex, c.Builder; {
	case b == nil:
		return fmt.Sprintf("there is no builder %d", index)
	case b.Version != gloas.PayloadBuilderVersion:
		return fmt.Sprintf("builder %d has version %d", index, b.Version)
	case b.DepositEpoch >= b.FinalizedEpoch:
		return fmt.Sprintf("builder %d has deposited in epoch %d, epoch %d is final", index, b.DepositEpoch, b.FinalizedEpoch)
	case b.WithdrawableEpoch != gloas.FarFuture:
		return fmt.Sprintf("builder %d has left, and may withdraw from epoch %d on", index, b.WithdrawableEpoch)
	}
	return ""
}
