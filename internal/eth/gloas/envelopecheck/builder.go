package envelopecheck

// Builder requires the builder whose bid it was.
func Builder(c *Case) string { return differIn(c.Envelope.Message.BuilderIndex, c.Bid.BuilderIndex) }
