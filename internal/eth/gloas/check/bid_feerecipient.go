package check

import "fmt"

// feeRecipient requires the proposer's address.
func (c *BidCase) feeRecipient() string {
	if got, want := c.Bid.Message.FeeRecipient, c.Preferences.FeeRecipient; got != want {
		return fmt.Sprintf("got %#x, expected %#x", got[:], want[:])
	}
	return ""
}
