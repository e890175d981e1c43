package rpc

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Wallet is an account with money, whose transactions specs of the stream send to the bundle RPC.
type Wallet struct{ w *wallet }

// Money is a wallet that nobody else has.
func Money(t *suite.T) Wallet { return Wallet{money(t)} }

// Transfer calls an address with data.
func (w Wallet) Transfer(valueWei int64, data ...byte) *types.Transaction {
	return w.w.send(valueWei, data...)
}

// Create runs code as the making of a contract.
func (w Wallet) Create(code string) *types.Transaction { return w.w.create(0, code) }

// Skip leaves a nonce out, so that the next transaction cannot land.
func (w Wallet) Skip() { w.w.next += 3 }

// Address is the wallet's address.
func (w Wallet) Address() common.Address { return w.w.address() }

// Sink is the address that transfers go to.
func Sink() common.Address { return sink }

// Fees are the fee caps and the gas limit of transfers.
func Fees() (tipCapWei, feeCap, gas uint64) { return tipWei, feeCapWei, 100_000 }

// patience is for how many blocks an order is meant that only prepares a spec: on a busy machine two blocks may come while a server looks at one.
const patience = 8

// Share sends a bundle with hints to the target's RPC and returns the answered hash.
func Share(t *suite.T, hints []string, txs ...*types.Transaction) common.Hash {
	params := share(t, txs...)
	from := head(t) + 2
	params["inclusion"] = object{"block": hexNumber(from), "maxBlock": hexNumber(from + patience)}
	if hints != nil {
		params["privacy"] = object{"hints": hints}
	}
	return sentAs(t, "mev_sendBundle", params)
}

// sentAs sends an order that only prepares a spec.
func sentAs(t *suite.T, method string, params ...any) common.Hash {
	answer := call(t, key(t), method, params...)
	if answer.Refused() {
		t.Inconclusive("%s refuses the order: %s", method, answer)
	}
	var text string
	if json.Unmarshal(answer.Members["result"], &text) != nil {
		var members struct {
			Hash string `json:"bundleHash"`
		}
		t.Ready(json.Unmarshal(answer.Members["result"], &members), "read the answer of "+method)
		text = members.Hash
	}
	return common.HexToHash(text)
}

// Private sends a private transaction; preferences may be nil.
func Private(t *suite.T, tx *types.Transaction, preferences map[string]any) common.Hash {
	params := object{"tx": raw(t, tx)}
	if preferences != nil {
		params["preferences"] = preferences
	}
	return sentAs(t, "eth_sendPrivateTransaction", params)
}

// Follow sends a bundle that follows a double hash; it returns the answered hash.
func Follow(t *suite.T, double common.Hash, tx *types.Transaction) common.Hash {
	params := share(t)
	params["body"] = append([]object{{"hash": double.Hex()}}, body(t, tx)...)
	return sentAs(t, "mev_sendBundle", params)
}

// Simulate asks for a simulation that nobody should hear of.
func Simulate(t *suite.T, tx *types.Transaction) { simulate(t, nil, tx) }

// Head is the number of the world's newest block.
func Head(t *suite.T) uint64 { return head(t) }

// Hash is the bundle's hash of transactions.
func Hash(txs ...*types.Transaction) common.Hash { return bundleHash(txs...) }
