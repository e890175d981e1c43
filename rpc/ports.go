package rpc

// Facts receives what happened. Record never blocks on a disk or a network, and keeps the order of
// its calls. A fact that it can't keep it counts and reports itself, since no caller could do
// anything about it. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}

// DurableFacts are Facts that also confirm: a client is promised something only when the journal
// has it.
type DurableFacts interface {
	Facts
	// Keep is Record for facts that belong together. kept waits until the journal has all of them,
	// and returns nil. If the journal does not confirm in time, it returns JournalUnavailable; then
	// it is unknown whether the facts are kept. kept may be called from many goroutines, but not
	// with a lock held, because it waits.
	Keep(facts ...Fact) (kept func() error)
}
