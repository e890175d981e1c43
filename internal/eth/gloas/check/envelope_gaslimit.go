package check

// gasLimit requires the gas limit that the bid names.
func (c *EnvelopeCase) gasLimit() string {
	return differIn(c.Envelope.Message.Payload.GasLimit, c.Bid.GasLimit)
}
