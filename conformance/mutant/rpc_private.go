package mutant

// privateMutants returns the mutants that change how private transactions are sent and cancelled.
func privateMutants() []Mutant {
	return []Mutant{
		{"R81", "rpc", "the hash is the double hash", []string{"RPC-PRI-01", "RPC-PRI-14"},
			result("eth_sendPrivateTransaction", flip)},
		{"R82", "rpc", "the raw method answers another hash", []string{"RPC-PRR-01", "RPC-PRR-02"},
			result("eth_sendPrivateRawTransaction", flip)},
		{"R83", "rpc", "every cancel succeeds", []string{"RPC-CPR-02", "RPC-CPR-03", "RPC-CPR-04"},
			result("eth_cancelPrivateTransaction", constant(true))},
		{"R84", "rpc", "no cancel succeeds", []string{"RPC-CPR-01"}, result("eth_cancelPrivateTransaction", constant(false))},
	}
}
