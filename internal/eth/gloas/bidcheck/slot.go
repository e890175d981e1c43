package bidcheck

import "fmt"

// Slot requires the slot that runs, or the next one.
func Slot(c *Case) string {
	if slot := c.Bid.Message.Slot; slot != c.NowSlot && slot != c.NowSlot+1 {
		return fmt.Sprintf("slot %d, now is slot %d", slot, c.NowSlot)
	}
	return ""
}
