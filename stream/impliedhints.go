package stream

import (
	"github.com/gavel-relay/gavel/internal/orderflow"
)

// ofTx are the hints about single transactions: with any of them a transaction has an object in
// txs.
const ofTx = orderflow.ContractAddress | orderflow.FunctionSelector | orderflow.Calldata |
	orderflow.TxHash | orderflow.Full

// known are all hints. Others come from a later version and are ignored.
const known = orderflow.Hash | ofTx | orderflow.Logs | orderflow.DefaultLogs

// shown adds to hints what they imply (interface description, "Hints"): calldata implies the
// selector, a selector implies the contract's address, full implies all three, and any hint implies
// the order's matching hash. Only tx_hash shows the hashes of transactions: without the signature
// they cannot be computed from what full shows. logs shows all logs, so it replaces default_logs.
func shown(hints orderflow.Hints) orderflow.Hints {
	hints &= known
	if hints&orderflow.Full != 0 {
		hints |= orderflow.Calldata
	}
	if hints&orderflow.Calldata != 0 {
		hints |= orderflow.FunctionSelector
	}
	if hints&orderflow.FunctionSelector != 0 {
		hints |= orderflow.ContractAddress
	}
	if hints&orderflow.Logs != 0 {
		hints &^= orderflow.DefaultLogs
	}
	if hints != 0 {
		hints |= orderflow.Hash
	}
	return hints
}
