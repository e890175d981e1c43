package envelopecheck

// BlockHash requires the block that the bid names.
func BlockHash(c *Case) string { return differ(c.Envelope.Message.Payload.BlockHash, c.Bid.BlockHash) }
