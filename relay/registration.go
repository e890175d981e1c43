package relay

// MaxListedFailures is how many refused entries of a batch an answer lists. The others are only
// counted.
const MaxListedFailures = 100

// RegistrationFailure is one refused entry of a registration batch.
type RegistrationFailure struct {
	// Index is the entry's place in the request, from 0.
	Index   int
	Refused *Refused
}

// RegistrationFailures are the refused entries of a batch.
type RegistrationFailures struct {
	// First are those with the lowest Index, at most MaxListedFailures.
	First []RegistrationFailure
	// Count is the number of all refused entries.
	Count int
}
