package relay

// Outcome is what became of a submission that is not refused. The zero value is a bid that counts.
type Outcome struct {
	// BelowFloor says that the bid is not above the floor, and that its block was not executed.
	BelowFloor bool
}
