package overlay

// ofForks are mutants of what changes at a fork, and what does not. They see a fork of the chain's
// rules in the schedule, and one of time by Forked.
var ofForks = []Mutant{
	{"rpc-rules-of-its-start", "rpc", "executes all blocks by the rules of the fork that it began with",
		[]string{"RPC-FRK-01", "RPC-FRK-03"}},
	{"rpc-rules-of-the-parent", "rpc", "executes a block by the rules of its parent's fork", []string{"RPC-FRK-03"}},
	{"rpc-rules-to-come", "rpc", "executes all blocks by the rules of the newest fork that it knows",
		[]string{"RPC-FRK-03"}},
	{"rpc-orders-end-at-a-fork", "rpc", "forgets at a fork the bundles that it acknowledged before",
		[]string{"RPC-FRK-01", "RPC-FRK-02"}},
	{"rpc-private-ends-at-a-fork", "rpc", "forgets at a fork the private transactions that it acknowledged before",
		[]string{"RPC-FRK-04"}},
	{"rpc-older-is-not-cancelled", "rpc", "answers a cancel after a fork, and keeps the bundle from before it",
		[]string{"RPC-FRK-05"}},
	{"rpc-older-private-stays", "rpc", "cancels no private transaction from before a fork after it",
		[]string{"RPC-FRK-05"}},
	{"rpc-refunds-end-at-a-fork", "rpc", "counts no refunds of blocks after a fork", []string{"RPC-FRK-06"}},

	{"rpc-its-start-is-told", "stream", "tells of orders by the rules of the fork that it began with",
		[]string{"STR-FRK-04"}},
	{"rpc-fork-to-come-is-told", "stream", "tells of orders by the rules of the newest fork that it knows",
		[]string{"STR-FRK-05"}},
	{"stream-leaves-at-a-fork", "stream", "ends at a fork the streams of all who listen since before it",
		[]string{"STR-FRK-01"}},
	{"stream-history-of-its-fork", "stream", "lists records of the newest fork only", []string{"STR-FRK-02"}},
	{"stream-info-of-its-fork", "stream", "sums up the hints of the newest fork only", []string{"STR-FRK-03"}},
	{"stream-resumes-in-its-fork", "stream", "does not resume after an event of another fork", []string{"STR-FRK-06"}},
}
