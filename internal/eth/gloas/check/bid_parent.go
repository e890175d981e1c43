package check

import "fmt"

// parentKnown requires that the parent beacon block is known.
func (c *BidCase) parentKnown() string {
	if c.Parent == nil {
		return fmt.Sprintf("beacon block %#x is unknown", c.Bid.Message.ParentBlockRoot)
	}
	return ""
}

// afterParent requires a slot after the parent's.
func (c *BidCase) afterParent() string {
	if slot := c.Bid.Message.Slot; slot <= c.Parent.Slot {
		return fmt.Sprintf("slot %d, the parent is of slot %d", slot, c.Parent.Slot)
	}
	return ""
}
