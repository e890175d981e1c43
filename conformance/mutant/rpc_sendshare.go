package mutant

// sendShareMutants returns the mutants that change mev_sendBundle.
func sendShareMutants() []Mutant {
	return []Mutant{
		{"rpc-mev-send-bundle-answers-another-hash", "rpc", "mev_sendBundle answers another hash", []string{"RPC-SHR-23",
			"RPC-SHR-24"},
			member("mev_sendBundle", "bundleHash", flip)},
		{"rpc-mev-send-bundle-answers-bare-hash", "rpc", "mev_sendBundle answers the bare hash", []string{"RPC-SHR-01"},
			result("mev_sendBundle", func(r any) any { return object(r)["bundleHash"] })},
		{"rpc-ambiguous-element-taken-as-transaction", "rpc",
			"of an element that is several things the transaction counts, and one that is nothing is left out",
			[]string{"RPC-SHR-30"}, params("mev_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					all, _ := object(list[0])["body"].([]any)
					var kept []any
					for _, one := range all {
						element := object(one)
						if element["tx"] != nil {
							delete(element, "hash")
							delete(element, "bundle")
						}
						if element["tx"] != nil || element["hash"] != nil || element["bundle"] != nil {
							kept = append(kept, one)
						}
					}
					object(list[0])["body"] = kept
				}
				return list
			})},
		{"rpc-bundle-without-block-is-for-its-max-block", "rpc", "a bundle without a block is for its maxBlock",
			[]string{"RPC-SHR-04"},
			params("mev_sendBundle", func(list []any) []any {
				if len(list) > 0 {
					if inclusion := at(list[0], "inclusion"); inclusion != nil && inclusion["block"] == nil {
						inclusion["block"] = inclusion["maxBlock"]
					}
				}
				return list
			})},
	}
}
