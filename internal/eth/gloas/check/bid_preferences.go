package check

// preferences requires that the proposer of the slot has said what it wants.
func (c *BidCase) preferences() string {
	if c.Preferences == nil || c.Preferences.ProposalSlot != c.Bid.Message.Slot {
		return "the proposer's preferences for the slot were not seen"
	}
	return ""
}
