package mutant

// simBundleMutants returns the mutants that change mev_simBundle.
func simBundleMutants() []Mutant {
	return []Mutant{
		{"rpc-bundle-always-works", "rpc", "a bundle always works", []string{"RPC-SIM-02"}, member("mev_simBundle",
			"success", constant(true))},
		{"rpc-bundle-never-works", "rpc", "a bundle never works", []string{"RPC-SIM-01", "RPC-SIM-22"},
			member("mev_simBundle", "success", constant(false))},
		{"rpc-state-block-is-another", "rpc", "stateBlock is another", []string{"RPC-SIM-03"}, member("mev_simBundle",
			"stateBlock",
			constant("0x1"))},
		{"rpc-gas-used-is-decimal", "rpc", "gasUsed is decimal", []string{"RPC-SIM-04"}, member("mev_simBundle", "gasUsed",
			constant("42000"))},
		{"rpc-profit-is-another", "rpc", "profit is another", []string{"RPC-SIM-05", "RPC-SIM-06"}, member("mev_simBundle",
			"profit", raiseDecimal)},
		{"rpc-mev-gas-price-is-another", "rpc", "mevGasPrice is another", []string{"RPC-SIM-06"}, member("mev_simBundle",
			"mevGasPrice", raiseDecimal)},
		{"rpc-nothing-can-be-refunded", "rpc", "nothing can be refunded", []string{"RPC-SIM-07", "RPC-SIM-20"},
			member("mev_simBundle", "refundableValue", constant("0x0"))},
		{"rpc-logs-are-empty", "rpc", "logs are empty", []string{"RPC-SIM-08", "RPC-SIM-13", "RPC-SIM-14", "RPC-SIM-15",
			"RPC-SIM-16"},
			member("mev_simBundle", "logs", constant([]any{}))},
		{"rpc-sim-options-ignored", "rpc", "simOptions are ignored", []string{"RPC-SIM-10"}, dropped("mev_simBundle",
			"simOptions")},
		{"rpc-second-parameter-ignored", "rpc", "the second parameter is ignored", []string{"RPC-SIM-11", "RPC-SIM-13",
			"RPC-SIM-14", "RPC-SIM-16"},
			params("mev_simBundle", func(list []any) []any { return list[:min(len(list), 1)] })},
		{"rpc-refunds-ignored", "rpc", "refunds are ignored", []string{"RPC-SIM-20"}, dropped("mev_simBundle", "validity")},
		{"rpc-state-always-that-of-first-block", "rpc", "the state is always that of the first block",
			[]string{"RPC-SIM-12", "RPC-SIM-03"},
			params("mev_simBundle", func(list []any) []any {
				if len(list) == 0 {
					return list
				}
				return []any{list[0], map[string]any{"parentBlock": "0x1"}}
			})},
		{"rpc-can-revert-ignored", "rpc", "canRevert is ignored", []string{"RPC-SIM-22"}, params("mev_simBundle",
			func(list []any) []any {
				if len(list) > 0 {
					all, _ := object(list[0])["body"].([]any)
					for _, one := range all {
						delete(object(one), "canRevert")
					}
				}
				return list
			})},
		{"rpc-timeout-of-simulation-ignored", "rpc", "timeout is ignored", []string{"RPC-SIM-26"},
			simOption(func(o map[string]any) {
				delete(o, "timeout")
			})},
		{"rpc-simulation-may-take-half-minute", "rpc", "a simulation may take half a minute", []string{"RPC-SIM-27"},
			simOption(func(o map[string]any) {
				if o["timeout"] == nil {
					o["timeout"] = 30
				}
			})},
		{"rpc-simulation-ended-after-second", "rpc", "a simulation is ended after a second", []string{"RPC-SIM-27"},
			simOption(func(o map[string]any) {
				if o["timeout"] == nil {
					o["timeout"] = 1
				}
			})},
		{"rpc-numbers-of-sim-options-in-hexadecimal-ignored", "rpc", "numbers of simOptions in hexadecimal are ignored",
			[]string{"RPC-SIM-28"},
			simOption(func(o map[string]any) {
				for _, name := range []string{"blockNumber", "timestamp", "gasLimit", "baseFee"} {
					if _, text := o[name].(string); text {
						delete(o, name)
					}
				}
			})},
		{"rpc-base-fee-is-7-wei-unless-told", "rpc", "the base fee is 7 wei unless told", []string{"RPC-SIM-17",
			"RPC-SIM-24"},
			simOption(func(o map[string]any) {
				if o["baseFee"] == nil {
					o["baseFee"] = 7
				}
			})},
	}
}

// simOption is a fault that changes the options of mev_simBundle, wherever they stand.
func simOption(change func(o map[string]any)) func() Fault {
	return params("mev_simBundle", func(list []any) []any {
		if len(list) == 0 || object(list[0]) == nil {
			return list
		}
		options := object(object(list[0])["simOptions"])
		if len(list) > 1 && object(list[1]) != nil {
			options = object(list[1])
		}
		if options == nil {
			options = map[string]any{}
			list = []any{list[0], options}
		}
		change(options)
		return list
	})
}
