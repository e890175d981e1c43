package relay

// Outcome is the answer to a submission that is not refused: 200 with an empty body, or 202 with a
// message.
type Outcome struct {
	Status  int
	Message string
}
