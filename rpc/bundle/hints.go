package bundle

import (
	"strings"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

var hintNames = map[string]orderflow.Hints{
	"hash":              orderflow.Hash,
	"contract_address":  orderflow.ContractAddress,
	"function_selector": orderflow.FunctionSelector,
	"calldata":          orderflow.Calldata,
	"logs":              orderflow.Logs,
	"default_logs":      orderflow.DefaultLogs,
	"special_logs":      orderflow.DefaultLogs,
	"tx_hash":           orderflow.TxHash,
	"transaction_hash":  orderflow.TxHash,
	"full":              orderflow.Full,
	"tx_full":           orderflow.Full,
}

// readHints returns the set of the named hints. Any hint includes the hash. The stream decides what
// else a hint implies.
func readHints(path string, names []string) (orderflow.Hints, error) {
	var hints orderflow.Hints
	for i, name := range names {
		hint, known := hintNames[name]
		if !known {
			return 0, rpc.InvalidPrivacy.With("%s[%d]: unknown hint %q", path, i, clip(name))
		}
		hints |= hint | orderflow.Hash
	}
	return hints, nil
}

// clip shortens a text from the request, so that it can be quoted.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
