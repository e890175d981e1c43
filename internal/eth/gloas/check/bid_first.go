package check

// first requires that nothing else of the builder was taken for the slot and parent.
func (c *BidCase) first() string {
	if c.Seen {
		return "a bid of this builder for the slot and parent was taken already"
	}
	return ""
}
