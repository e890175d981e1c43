package bidcheck

import "fmt"

// ParentBlock requires that the parent's execution block is known.
func ParentBlock(c *Case) string {
	if c.ParentGasLimit == nil {
		return fmt.Sprintf("execution block %#x is unknown", c.Bid.Message.ParentBlockHash)
	}
	return ""
}
