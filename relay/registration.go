package relay

// MaxListedFailures is how many refused entries of a batch an answer names. The others are counted.
const MaxListedFailures = 100

// RegistrationFailure is one refused entry of a registration batch.
type RegistrationFailure struct {
	// Index is the entry's place in the request, from 0.
	Index   int
	Refused *Refused
}

// RegistrationFailures are the refused entries of a batch.
type RegistrationFailures struct {
	// First are the first of them by place, at most MaxListedFailures.
	First []RegistrationFailure
	// Count is how many there are in all.
	Count int
}
