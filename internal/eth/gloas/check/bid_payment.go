package check

import "fmt"

// payment requires that nothing is promised within the payload: nobody could check that here.
func (c *BidCase) payment() string {
	if promised := c.Bid.Message.ExecutionPayment; promised != 0 {
		return fmt.Sprintf("execution payment %d", promised)
	}
	return ""
}
