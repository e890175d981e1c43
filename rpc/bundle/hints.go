package bundle

import (
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

var hintNames = map[string]rpc.Hints{
	"hash":              rpc.HintHash,
	"contract_address":  rpc.HintContractAddress,
	"function_selector": rpc.HintFunctionSelector,
	"calldata":          rpc.HintCalldata,
	"logs":              rpc.HintLogs,
	"default_logs":      rpc.HintDefaultLogs,
	"special_logs":      rpc.HintDefaultLogs,
	"tx_hash":           rpc.HintTxHash,
	"transaction_hash":  rpc.HintTxHash,
	"full":              rpc.HintFull,
	"tx_full":           rpc.HintFull,
}

// readHints is the set of the hints that names ask for; any hint brings the hash. What else a hint implies is the stream's to know.
func readHints(path string, names []string) (rpc.Hints, error) {
	var hints rpc.Hints
	for i, name := range names {
		hint, known := hintNames[name]
		if !known {
			return 0, rpc.InvalidPrivacy.With("%s[%d]: unknown hint %q", path, i, clip(name))
		}
		hints |= hint | rpc.HintHash
	}
	return hints, nil
}

// clip keeps a text from the request short where it is quoted.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
