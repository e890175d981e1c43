package envelopecheck

// Slot requires the slot of the bid in the payload (EIP-7843).
func Slot(c *Case) string { return differIn(c.Envelope.Message.Payload.SlotNumber, c.Bid.Slot) }
