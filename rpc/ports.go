package rpc

// Facts takes what happened. Record never blocks on a disk or a network and keeps the order of its
// calls; what it cannot keep it counts and reports by itself, since no caller could do anything
// about it. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}

// Keeper is Facts for what somebody is promised.
type Keeper interface {
	Facts
	// Keep is Record for facts that belong together. kept waits until the journal has them all and
	// returns nil, or, when it did not say so in time, JournalUnavailable: then nothing is known. It
	// may be called from many goroutines, and by no one who holds a lock.
	Keep(facts ...Fact) (kept func() error)
}
