package relay

// RegistrationFailure is one refused entry of a registration batch.
type RegistrationFailure struct {
	// Index is the entry's place in the request, from 0.
	Index   int
	Refused *Refused
}
