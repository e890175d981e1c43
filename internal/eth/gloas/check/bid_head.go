package check

import "fmt"

// onHead requires that the bid is on the head, with its payload or without, as a block would be
// built now.
func (c *BidCase) onHead() string {
	bid := c.Bid.Message
	if on := (Head{bid.ParentBlockRoot, bid.ParentBlockHash}); on != c.Head {
		return fmt.Sprintf("on %#x and %#x, the head is %#x and %#x", on.Root, on.Hash, c.Head.Root, c.Head.Hash)
	}
	return ""
}
