package bidcheck

import "fmt"

// FeeRecipient requires the proposer's address.
func FeeRecipient(c *Case) string {
	if got, want := c.Bid.Message.FeeRecipient, c.Preferences.FeeRecipient; got != want {
		return fmt.Sprintf("got %#x, expected %#x", got[:], want[:])
	}
	return ""
}
