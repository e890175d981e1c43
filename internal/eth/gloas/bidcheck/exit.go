package bidcheck

import "fmt"

// NoExit requires that the builder does not leave by a request in the parent's payload.
func NoExit(c *Case) string {
	if c.Builder.Exits {
		return fmt.Sprintf("builder %d leaves with the parent's payload", c.Bid.Message.BuilderIndex)
	}
	return ""
}
