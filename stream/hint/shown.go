package hint

import (
	"github.com/gavel-relay/gavel/internal/orderflow"
)

// ofTx are the hints that say something of each transaction: with any of them it has an object in
// txs.
const ofTx = orderflow.ContractAddress | orderflow.FunctionSelector | orderflow.Calldata |
	orderflow.TxHash | orderflow.Full

// known are all hints; others are from a later version and mean nothing here.
const known = orderflow.Hash | ofTx | orderflow.Logs | orderflow.DefaultLogs

// shown is what hints let see, with what they imply (interface description, "Hints"): calldata
// shows its selector, a selector shows whose it is, full shows all three, and any of them the
// order's double hash. Transactions' own hashes are shown by tx_hash alone: they cannot be computed
// from what full shows, without the signature. Logs, if all are asked for, make default_logs
// needless.
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
