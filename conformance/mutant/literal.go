package mutant

import "slices"

// swapMutants returns the mutants that exchange a literal instance with the other one: each answers
// correctly, but in the form that is right for the other.
func swapMutants() []Mutant {
	nothing := func() Fault { return Fault{} }
	return []Mutant{
		{"rpc-literal-and-other-instance-exchanged", "rpc", "the literal bundle RPC and the other one are each other",
			[]string{
				"RPC-LIT-01", "RPC-LIT-02", "RPC-LIT-03", "RPC-LIT-04", "RPC-LIT-05", "RPC-LIT-06", "RPC-LIT-07", "RPC-LIT-08",
				"RPC-LIT-09", "RPC-LIT-10", "RPC-LIT-11",
				"RPC-BUN-20", "RPC-CAL-21", "RPC-SIM-19", "RPC-SIM-21", "RPC-SIM-24", "RPC-SIM-25", "RPC-PRI-07", "RPC-PRI-19",
				"RPC-SHR-27", "RPC-RFR-05",
			}, nothing},
		{"relay-literal-and-other-instance-exchanged", "relay", "the literal relay and the other one are each other",
			[]string{"REL-LIT-01", "REL-SUB-39", "REL-SUB-40"}, nothing},
	}
}

// Swaps says whether the mutant exchanges the literal instance of its interface with the other one.
func (m Mutant) Swaps() bool {
	return slices.ContainsFunc(swapMutants(), func(s Mutant) bool { return s.ID == m.ID })
}
