package bidcheck

import "fmt"

// Payment requires that nothing is promised within the payload: nobody could check that here.
func Payment(c *Case) string {
	if promised := c.Bid.Message.ExecutionPayment; promised != 0 {
		return fmt.Sprintf("execution payment %d", promised)
	}
	return ""
}
