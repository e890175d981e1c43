package check

import "fmt"

// highest requires more value than any bid for the slot and parent that was taken.
func (c *BidCase) highest() string {
	if value := c.Bid.Message.Value; c.Highest != nil && value <= *c.Highest {
		return fmt.Sprintf("value %d, another bid has %d", value, *c.Highest)
	}
	return ""
}
