package envelopecheck

// GasLimit requires the gas limit that the bid names.
func GasLimit(c *Case) string { return differIn(c.Envelope.Message.Payload.GasLimit, c.Bid.GasLimit) }
