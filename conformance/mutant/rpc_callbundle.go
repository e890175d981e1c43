package mutant

// callBundleMutants returns the mutants that change eth_callBundle.
func callBundleMutants() []Mutant {
	return []Mutant{
		{"R41", "rpc", "eth_callBundle answers another hash", []string{"RPC-CAL-01"},
			member("eth_callBundle", "bundleHash", flip)},
		{"R42", "rpc", "coinbaseDiff is another", []string{"RPC-CAL-02", "RPC-CAL-03"},
			member("eth_callBundle", "coinbaseDiff", more)},
		{"R43", "rpc", "bundleGasPrice is another", []string{"RPC-CAL-03"}, member("eth_callBundle", "bundleGasPrice", more)},
		{"R44", "rpc", "totalGasUsed is another", []string{"RPC-CAL-04"}, member("eth_callBundle", "totalGasUsed",
			constant(1))},
		{"R45", "rpc", "stateBlockNumber is another", []string{"RPC-CAL-05"}, member("eth_callBundle", "stateBlockNumber",
			constant(1))},
		{"R46", "rpc", "results stand on their heads", []string{"RPC-CAL-06"},
			member("eth_callBundle", "results", func(v any) any {
				all, _ := v.([]any)
				for i := range len(all) / 2 {
					all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
				}
				return all
			})},
		{"R47", "rpc", "fees are others", []string{"RPC-CAL-07"}, member("eth_callBundle", "results", func(v any) any {
			for _, r := range v.([]any) {
				object(r)["gasFees"] = "1"
			}
			return v
		})},
		{"R48", "rpc", "payments do not count", []string{"RPC-CAL-08", "RPC-CAL-02"},
			member("eth_callBundle", "ethSentToCoinbase", constant("0"))},
		{"R49", "rpc", "reverts are not told", []string{"RPC-CAL-09"}, member("eth_callBundle", "results", func(v any) any {
			for _, r := range v.([]any) {
				delete(object(r), "error")
			}
			return v
		})},
		{"R50", "rpc", "timestamp is ignored", []string{"RPC-CAL-15"}, dropped("eth_callBundle", "timestamp")},
		{"R51", "rpc", "blockNumber is ignored", []string{"RPC-CAL-16"}, params("eth_callBundle", func(list []any) []any {
			if len(list) > 0 && object(list[0]) != nil {
				object(list[0])["blockNumber"] = "0x1"
			}
			return list
		})},
		{"R52", "rpc", "stateBlockNumber is ignored", []string{"RPC-CAL-05", "RPC-CAL-17"},
			dropped("eth_callBundle", "stateBlockNumber")},
		{"R53", "rpc", "numbers are hex", []string{"RPC-CAL-02", "RPC-CAL-18"}, result("eth_callBundle", func(r any) any {
			if o := object(r); o != nil {
				o["coinbaseDiff"] = "0x1"
				for _, one := range o["results"].([]any) {
					object(one)["gasUsed"] = "0x5208"
				}
			}
			return r
		})},
		{"R54", "rpc", "each transaction is run by itself", []string{"RPC-CAL-20"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 {
					if txs, is := object(list[0])["txs"].([]any); is && len(txs) > 1 {
						object(list[0])["txs"] = txs[1:]
					}
				}
				return list
			})},
		{"R56", "rpc", "the state is that of the block before", []string{"RPC-CAL-05"},
			params("eth_callBundle", func(list []any) []any {
				if len(list) > 0 && object(list[0]) != nil {
					object(list[0])["stateBlockNumber"] = "0x1"
				}
				return list
			})},
		{"R57", "rpc", "all of coinbaseDiff is of the first transaction", []string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for i, one := range resultsOf(r) {
					if object(one)["coinbaseDiff"] = "0"; i == 0 {
						object(one)["coinbaseDiff"] = object(r)["coinbaseDiff"]
					}
				}
				return r
			})},
		{"R58", "rpc", "entries have no ethSentToCoinbase", []string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for _, one := range resultsOf(r) {
					delete(object(one), "ethSentToCoinbase")
				}
				return r
			})},
		{"R59", "rpc", "payments are fees in entries", []string{"RPC-CAL-22"},
			result("eth_callBundle", func(r any) any {
				for _, one := range resultsOf(r) {
					object(one)["gasFees"], object(one)["ethSentToCoinbase"] = object(one)["coinbaseDiff"], "0"
				}
				return r
			})},
		{"R60", "rpc", "gasPrice of entries is that of the bundle", []string{"RPC-CAL-23"},
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
