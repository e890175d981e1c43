package bidcheck

import "fmt"

// ParentKnown requires that the parent beacon block is known.
func ParentKnown(c *Case) string {
	if c.Parent == nil {
		return fmt.Sprintf("beacon block %#x is unknown", c.Bid.Message.ParentBlockRoot)
	}
	return ""
}

// AfterParent requires a slot after the parent's.
func AfterParent(c *Case) string {
	if slot := c.Bid.Message.Slot; slot <= c.Parent.Slot {
		return fmt.Sprintf("slot %d, the parent is of slot %d", slot, c.Parent.Slot)
	}
	return ""
}
