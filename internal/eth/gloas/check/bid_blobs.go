package check

// blobs requires no more blobs than a block of the slot may have.
func (c *BidCase) blobs() string {
	if err := c.Bid.Message.CheckLimits(c.Spec.MaxBlobs(c.Bid.Message.Slot)); err != nil {
		return err.Error()
	}
	return ""
}
