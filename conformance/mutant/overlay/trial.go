package overlay

// Trial are mutants as fromWords has them, which no spec notices yet. None of them must be killed;
// one that is killed moves to fromWords, and its patch to patches. The list must not be changed.
var Trial = []Mutant{
	{"relay-last-of-a-rush", "relay", "serves the last of the bids that come within 300 ms of each other",
		[]string{"REL-SUB-31"}},
	{"relay-gas-limit-stays", "relay",
		"takes a block whose gas limit stays where it is while the proposer asked for another", []string{"REL-SUB-19"}},
	{"relay-proofs-reversed", "relay", "reveals the proofs of several blobs in the wrong order",
		[]string{"REL-PAY-08"}},
	{"relay-number-of-commitments", "relay", "reveals a payload for a block that has as many commitments, but others",
		[]string{"REL-PAY-15"}},
	{"relay-commitments-reversed", "relay", "shows the commitments of several blobs in the wrong order",
		[]string{"REL-HDR-12"}},
	{"relay-value-as-text", "relay", "orders values as texts", []string{"REL-DAT-21"}},
	{"relay-invalid-is-received", "relay", "lists blocks as received that their execution has found invalid",
		[]string{"REL-DAT-14"}},
	{"rpc-cancels-at-its-own", "rpc", "tells the operator's builder of cancels, and no other", []string{"RPC-CAN-06"}},
	{"rpc-26-blocks", "rpc", "tries private transactions for 26 blocks", []string{"RPC-PRI-15"}},
	{"rpc-cursor-at-the-end", "rpc", "answers a cursor with the last page", []string{"RPC-RFR-02"}},
	{"rpc-from-that-block-on", "rpc", "lists by block the refunds of later blocks, too", []string{"RPC-RFK-02"}},
	{"rpc-900-at-once", "rpc", "takes a burst of 900 requests", []string{"RPC-LIM-01"}},
	{"stream-pages-shift", "stream", "counts the offset from events that come meanwhile, so that pages shift",
		[]string{"STR-HIS-08"}},
	{"stream-counts-a-page", "stream", "counts no more hints than a page has", []string{"STR-INF-02"}},
	{"stream-inner-bundles-last", "stream", "shows the transactions of inner bundles behind all others",
		[]string{"STR-EVT-06"}},
}
