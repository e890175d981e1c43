package mutant

// privateMutants returns the mutants that change how private transactions are sent and cancelled.
func privateMutants() []Mutant {
	return []Mutant{
		{"rpc-hash-is-double-hash", "rpc", "the hash is the double hash", []string{"RPC-PRI-01", "RPC-PRI-14"},
			result("eth_sendPrivateTransaction", flip)},
		{"rpc-raw-method-answers-another-hash", "rpc", "the raw method answers another hash", []string{"RPC-PRR-01",
			"RPC-PRR-02"},
			result("eth_sendPrivateRawTransaction", flip)},
		{"rpc-every-cancel-succeeds", "rpc", "every cancel succeeds", []string{"RPC-CPR-02", "RPC-CPR-03", "RPC-CPR-04"},
			result("eth_cancelPrivateTransaction", constant(true))},
		{"rpc-no-cancel-succeeds", "rpc", "no cancel succeeds", []string{"RPC-CPR-01"},
			result("eth_cancelPrivateTransaction", constant(false))},
	}
}
