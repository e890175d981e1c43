package check

// timestamp requires the time at which the slot begins.
func (c *EnvelopeCase) timestamp() string {
	return differIn(c.Envelope.Message.Payload.Timestamp, c.Spec.Timestamp(c.Bid.Slot))
}
