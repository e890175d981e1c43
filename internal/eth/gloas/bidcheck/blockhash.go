package bidcheck

// BlockHash requires a block other than its parent.
func BlockHash(c *Case) string {
	if bid := c.Bid.Message; bid.BlockHash == bid.ParentBlockHash {
		return "the block is its own parent"
	}
	return ""
}
