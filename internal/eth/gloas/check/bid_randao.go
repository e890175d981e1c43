package check

import "fmt"

// prevRandao requires the randomness of the parent's state.
func (c *BidCase) prevRandao() string {
	if got := c.Bid.Message.PrevRandao; got != c.PrevRandao {
		return fmt.Sprintf("got %#x, expected %#x", got, c.PrevRandao)
	}
	return ""
}
