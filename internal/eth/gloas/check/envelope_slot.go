package check

// slot requires the slot of the bid in the payload (EIP-7843).
func (c *EnvelopeCase) slot() string {
	return differIn(c.Envelope.Message.Payload.SlotNumber, c.Bid.Slot)
}
