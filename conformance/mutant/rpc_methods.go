package mutant

// methodMutants returns the mutants that take or refuse each call of one method.
func methodMutants() (list []Mutant) {
	for _, m := range []struct {
		// id is the method as a part of ids.
		id, method string
		takes      []string
		refuses    []string
	}{
		{"eth-send-bundle", "eth_sendBundle", []string{"RPC-BUN-02", "RPC-BUN-03", "RPC-BUN-04", "RPC-BUN-05", "RPC-BUN-06",
			"RPC-BUN-07",
			"RPC-BUN-09", "RPC-BUN-11", "RPC-BUN-16"}, []string{"RPC-BUN-08", "RPC-BUN-10", "RPC-BUN-14", "RPC-BUN-15",
			"RPC-BUN-17", "RPC-BUN-19"}},
		{"eth-call-bundle", "eth_callBundle", []string{"RPC-CAL-10", "RPC-CAL-12", "RPC-CAL-13", "RPC-CAL-17"},
			[]string{"RPC-CAL-14", "RPC-CAL-19"}},
		{"eth-cancel-bundle", "eth_cancelBundle", []string{"RPC-CAN-02", "RPC-CAN-03"}, []string{"RPC-CAN-01", "RPC-CAN-04",
			"RPC-CAN-05"}},
		{"mev-send-bundle", "mev_sendBundle", []string{"RPC-SHR-03", "RPC-SHR-04", "RPC-SHR-05", "RPC-SHR-07", "RPC-SHR-08",
			"RPC-SHR-09",
			"RPC-SHR-12", "RPC-SHR-13", "RPC-SHR-14", "RPC-SHR-15", "RPC-SHR-16", "RPC-SHR-17", "RPC-SHR-19", "RPC-SHR-25",
			"RPC-SHR-29"}, []string{"RPC-SHR-02", "RPC-SHR-06", "RPC-SHR-10", "RPC-SHR-11", "RPC-SHR-18", "RPC-SHR-20",
			"RPC-SHR-21", "RPC-SHR-22", "RPC-SHR-26"}},
		{"mev-sim-bundle", "mev_simBundle", []string{"RPC-SIM-19"}, []string{"RPC-SIM-09", "RPC-SIM-17", "RPC-SIM-18",
			"RPC-SIM-21",
			"RPC-SIM-23"}},
		{"eth-send-private-transaction", "eth_sendPrivateTransaction", []string{"RPC-PRI-04", "RPC-PRI-05", "RPC-PRI-10",
			"RPC-PRI-13"},
			[]string{"RPC-PRI-02", "RPC-PRI-03", "RPC-PRI-06", "RPC-PRI-07", "RPC-PRI-08", "RPC-PRI-09", "RPC-PRI-11",
				"RPC-PRI-12"}},
		{"eth-send-private-raw-transaction", "eth_sendPrivateRawTransaction", []string{"RPC-PRR-03"}, []string{"RPC-PRR-01",
			"RPC-PRR-02"}},
		{"eth-cancel-private-transaction", "eth_cancelPrivateTransaction", []string{"RPC-CPR-05"}, []string{"RPC-CPR-03"}},
		{"flashbots-get-fee-refund-totals-by-recipient", "flashbots_getFeeRefundTotalsByRecipient", []string{"RPC-RFT-03"},
			[]string{"RPC-RFT-01"}},
		{"flashbots-get-fee-refunds-by-recipient", "flashbots_getFeeRefundsByRecipient", []string{"RPC-RFR-04", "RPC-RFR-07"},
			[]string{"RPC-RFR-01", "RPC-RFR-03"}},
		{"flashbots-get-fee-refunds-by-bundle", "flashbots_getFeeRefundsByBundle", []string{"RPC-RFB-02"},
			[]string{"RPC-RFB-01"}},
		{"flashbots-get-fee-refunds-by-block", "flashbots_getFeeRefundsByBlock", []string{"RPC-RFK-02"},
			[]string{"RPC-RFK-01"}},
		{"flashbots-set-fee-refund-recipient", "flashbots_setFeeRefundRecipient", []string{"RPC-SET-02", "RPC-SET-04"},
			[]string{"RPC-SET-01", "RPC-SET-03"}},
		{"buildernet-get-delayed-refunds", "buildernet_getDelayedRefunds", []string{"RPC-DLY-02", "RPC-DLY-04"},
			[]string{"RPC-DLY-03", "RPC-DLY-06"}},
		{"buildernet-get-delayed-refund-totals-by-recipient", "buildernet_getDelayedRefundTotalsByRecipient", nil,
			[]string{"RPC-DLT-02", "RPC-DLT-03"}},
	} {
		if m.takes != nil {
			list = append(list, Mutant{"rpc-" + m.id + "-never-refused", "rpc", m.method + " is never refused", m.takes,
				blanket(takesAll(m.method))})
		}
		list = append(list, Mutant{"rpc-" + m.id + "-always-refused", "rpc", m.method + " is always refused", m.refuses,
			blanket(refusesAll(m.method))})
	}
	return list
}
