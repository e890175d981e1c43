package mutant

// sendBundleMutants returns the mutants that change eth_sendBundle.
func sendBundleMutants() []Mutant {
	return []Mutant{
		{"rpc-eth-send-bundle-answers-another-hash", "rpc", "eth_sendBundle answers another hash", []string{"RPC-BUN-01",
			"RPC-BUN-15"},
			member("eth_sendBundle", "bundleHash", flip)},
		{"rpc-no-smart", "rpc", "there is no smart", []string{"RPC-BUN-12"}, result("eth_sendBundle", func(r any) any {
			delete(object(r), "smart")
			return r
		})},
		{"rpc-smart-is-boolean", "rpc", "smart is a boolean", []string{"RPC-BUN-12"}, member("eth_sendBundle", "smart",
			constant(true))},
		{"rpc-smart-always-there", "rpc", "smart is always there", []string{"RPC-BUN-13"}, result("eth_sendBundle",
			func(r any) any {
				if o := object(r); o != nil {
					o["smart"] = "true"
				}
				return r
			})},
		{"rpc-of-more-than-100-transactions-first-100-taken", "rpc",
			"of more than 100 transactions the first 100 are taken", []string{"RPC-BUN-03"},
			params("eth_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					if txs, is := object(list[0])["txs"].([]any); is && len(txs) > 100 {
						object(list[0])["txs"] = txs[:100]
					}
				}
				return list
			})},
	}
}
