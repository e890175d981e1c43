package envelopecheck

// Block requires the beacon block that has the bid.
func Block(c *Case) string { return differ(c.Envelope.Message.BeaconBlockRoot, c.BlockRoot) }

// ParentBlock requires that block's parent.
func ParentBlock(c *Case) string {
	return differ(c.Envelope.Message.ParentBeaconBlockRoot, c.ParentRoot)
}
