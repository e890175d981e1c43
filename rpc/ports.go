package rpc

// Facts takes what happened. Record never blocks on a disk or a network and keeps the order of its calls; what it cannot keep it counts and
// reports by itself, since no caller could do anything about it. It is safe for concurrent use.
type Facts interface {
	Record(fact Fact)
}
