package overlay

// ofConsensus are the mutants inside the devnet's proposers, which are judged as a consensus
// client.
var ofConsensus = []Mutant{
	{"consensus-first-relay-registers", "consensus", "sends registrations to the first relay only",
		[]string{"CON-REG-01"}},
	{"consensus-other-parent", "consensus", "asks for headers on a parent that nobody has announced",
		[]string{"CON-HDR-01"}},
	{"consensus-no-bid-no-block", "consensus", "proposes nothing when relays have no bid", []string{"CON-LOC-01"}},
	{"consensus-failure-no-block", "consensus", "proposes nothing when relays fail", []string{"CON-LOC-02"}},
	{"consensus-waits-for-relays", "consensus", "waits for relays as long as they keep silent", []string{"CON-LOC-03"}},
	{"consensus-any-bid", "consensus", "takes bids whoever has signed them, and on any parent", []string{"CON-LOC-04"}},
	{"consensus-falls-back", "consensus", "proposes its own block when relays refuse the signed one",
		[]string{"CON-SIG-01"}},
	{"consensus-never-breaks", "consensus", "has no circuit breaker", []string{"CON-BRK-01"}},
	{"consensus-breaks-on-failures", "consensus", "asks no relay any more after one request that failed",
		[]string{"CON-BRK-02"}},
}
