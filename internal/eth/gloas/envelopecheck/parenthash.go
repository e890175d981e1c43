package envelopecheck

// ParentHash requires the parent of the execution layer that the bid names.
func ParentHash(c *Case) string {
	return differ(c.Envelope.Message.Payload.ParentHash, c.Bid.ParentBlockHash)
}
