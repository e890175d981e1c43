package check

// block requires the beacon block that has the bid.
func (c *EnvelopeCase) block() string { return differ(c.Envelope.Message.BeaconBlockRoot, c.BlockRoot) }

// parentBlock requires that block's parent.
func (c *EnvelopeCase) parentBlock() string {
	return differ(c.Envelope.Message.ParentBeaconBlockRoot, c.ParentRoot)
}
