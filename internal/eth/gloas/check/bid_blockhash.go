package check

// blockHash requires a block other than its parent.
func (c *BidCase) blockHash() string {
	if bid := c.Bid.Message; bid.BlockHash == bid.ParentBlockHash {
		return "the block is its own parent"
	}
	return ""
}
