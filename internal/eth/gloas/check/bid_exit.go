package check

import "fmt"

// noExit requires that the builder does not leave by a request in the parent's payload.
func (c *BidCase) noExit() string {
	if c.Builder.Exits {
		return fmt.Sprintf("builder %d leaves with the parent's payload", c.Bid.Message.BuilderIndex)
	}
	return ""
}
