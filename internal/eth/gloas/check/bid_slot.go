package check

import "fmt"

// slot requires the slot that runs, or the next one.
func (c *BidCase) slot() string {
	if slot := c.Bid.Message.Slot; slot != c.NowSlot && slot != c.NowSlot+1 {
		return fmt.Sprintf("slot %d, now is slot %d", slot, c.NowSlot)
	}
	return ""
}
