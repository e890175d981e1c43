package check

// blockHash requires the block that the bid names.
func (c *EnvelopeCase) blockHash() string {
	return differ(c.Envelope.Message.Payload.BlockHash, c.Bid.BlockHash)
}
