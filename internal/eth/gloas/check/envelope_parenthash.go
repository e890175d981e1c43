package check

// parentHash requires the parent of the execution layer that the bid names.
func (c *EnvelopeCase) parentHash() string {
	return differ(c.Envelope.Message.Payload.ParentHash, c.Bid.ParentBlockHash)
}
