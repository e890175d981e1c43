package bidcheck

import "fmt"

// PrevRandao requires the randomness of the parent's state.
func PrevRandao(c *Case) string {
	if got := c.Bid.Message.PrevRandao; got != c.PrevRandao {
		return fmt.Sprintf("got %#x, expected %#x", got, c.PrevRandao)
	}
	return ""
}
