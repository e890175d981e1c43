package mutant

// callBundleMutants returns the mutants that change eth_callBundle.
func callBundleMutants() []Mutant {
	return []Mutant{
		{"rpc-eth-call-bundle-answers-another-hash", "rpc", "eth_callBundle answers another hash", []string{"RPC-CAL-01"},
			member("eth_callBundle", "bundleHash", flip)},
		{"rpc-coinbase-diff-is-another", "rpc", "coinbaseDiff is another", []string{"RPC-CAL-02", "RPC-CAL-03"},
			member("eth_callBundle", "coinbaseDiff", raiseDecimal)},
		{"rpc-bundle-gas-price-is-another", "rpc", "bundleGasPrice is another", []string{"RPC-CAL-03"},
			member("eth_callBundle", "bundleGasPrice", raiseDecimal)},
		{"rpc-total-gas-used-is-another", "rpc", "totalGasUsed is another", []string{"RPC-CAL-04"}, member("eth_callBundle",
			"totalGasUsed",
			constant(1))},
		{"rpc-state-block-number-is-another", "rpc", "stateBlockNumber is another", []string{"RPC-CAL-05"},
			member("eth_callBundle", "stateBlockNumber",
				constant(1))},
		{"rpc-results-reversed", "rpc", "results stand on their heads", []string{"RPC-CAL-06"},
			member("eth_callBundle", "results", func(v any) any {
				all, _ := v.([]any)
				for i := range len(all) / 2 {
					all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
				}
				return all
			})},
		{"rpc-fees-are-others", "rpc", "fees are others", []string{"RPC-CAL-07"}, member("eth_callBundle", "results",
			func(v any) any {
				for _, r := range v.([]any) {
					object(r)["gasFees"] = "1"
				}
				return v
			})},
		{"rpc-payments-do-not-count", "rpc", "payments do not count", []string{"RPC-CAL-08", "RPC-CAL-02"},
			member("eth_callBundle", "ethSentToCoinbase", constant("0"))},
		{"rpc-reverts-not-told", "rpc", "reverts are not told", []string{"RPC-CAL-09"}, member("eth_callBundle", "results",
			func(v any) any {
				for _, r := range v.([]any) {
					delete(object(r), "error")
				}
				return v
			})},
		{"rpc-timestamp-ignored", "rpc", "timestamp is ignored", []string{"RPC-CAL-15"}, dropped("eth_callBundle",
			"timestamp")},
		{"rpc-block-number-ignored", "rpc", "blockNumber is ignored", []string{"RPC-CAL-16"}, params("eth_callBundle",
			func(list []any) []any {
				if len(list) > 0 && object(list[0]) != nil {
					object(list[0])["blockNumber"] = "0x1"
				}
				return list
			})},
		{"rpc-state-block-number-ignored", "rpc", "stateBlockNumber is ignored", []string{"RPC-CAL-05", "RPC-CAL-17"},
			dropped("eth_callBundle", "stateBlockNumber")},
		{"rpc-numbers-are-hex", "rpc", "numbers are hex", []string{"RPC-CAL-02", "RPC-CAL-18"}, result("eth_callBundle",
			func(r any) any {
				if o := object(r); o != nil {
					o["coinbaseDiff"] = "0x1"
					for _, one := range o["results"].([]any) {
						object(one)["gasUsed"] = "0x5208"
					}
				}
				return r
			})},
		{"rpc-each-transaction-run-by-itself", "rpc", "each transaction is run by itself", []string{"RPC-CAL-20"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 {
					if txs, is := object(list[0])["txs"].([]any); is && len(txs) > 1 {
						object(list[0])["txs"] = txs[1:]
					}
				}
				return list
			})},
		{"rpc-state-is-that-of-block-before", "rpc", "the state is that of the block before", []string{"RPC-CAL-05"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 && object(list[0]) != nil {
					object(list[0])["stateBlockNumber"] = "0x1"
				}
				return list
			})},
		{"rpc-all-of-coinbase-diff-is-of-first-transaction", "rpc", "all of coinbaseDiff is of the first transaction",
			[]string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for i, one := range resultsOf(r) {
					if object(one)["coinbaseDiff"] = "0"; i == 0 {
						object(one)["coinbaseDiff"] = object(r)["coinbaseDiff"]
					}
				}
				return r
			})},
		{"rpc-entries-have-no-eth-sent-to-coinbase", "rpc", "entries have no ethSentToCoinbase", []string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for _, one := range resultsOf(r) {
					delete(object(one), "ethSentToCoinbase")
				}
				return r
			})},
		{"rpc-payments-are-fees-in-entries", "rpc", "payments are fees in entries", []string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for _, one := range resultsOf(r) {
					object(one)["gasFees"], object(one)["ethSentToCoinbase"] = object(one)["coinbaseDiff"], "0"
				}
				return r
			})},
		{"rpc-gas-price-of-entries-is-that-of-bundle", "rpc", "gasPrice of entries is that of the bundle",
			[]string{"RPC-CAL-23"},
			result("eth_callBundle", func(r any) any {
				for _, one := range resultsOf(r) {
					object(one)["gasPrice"] = object(r)["bundleGasPrice"]
				}
				return r
			})},
	}
}

// resultsOf returns the entries of a result of eth_callBundle.
func resultsOf(result any) []any {
	list, _ := object(result)["results"].([]any)
	return list
}
