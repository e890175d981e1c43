package check

import "fmt"

// parentBlock requires that the parent's execution block is known.
func (c *BidCase) parentBlock() string {
	if c.ParentGasLimit == nil {
		return fmt.Sprintf("execution block %#x is unknown", c.Bid.Message.ParentBlockHash)
	}
	return ""
}
