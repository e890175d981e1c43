package check

// builder requires the builder whose bid it was.
func (c *EnvelopeCase) builder() string {
	return differIn(c.Envelope.Message.BuilderIndex, c.Bid.BuilderIndex)
}
