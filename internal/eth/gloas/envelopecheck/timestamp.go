package envelopecheck

// Timestamp requires the time at which the slot begins.
func Timestamp(c *Case) string {
	return differIn(c.Envelope.Message.Payload.Timestamp, c.Spec.Timestamp(c.Bid.Slot))
}
