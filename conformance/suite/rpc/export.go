package rpc

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Wallet is an account with money. Specs of the stream send its transactions to the bundle RPC.
type Wallet struct{ w *wallet }

// NewWallet returns a wallet that no other spec has.
func NewWallet(t *suite.T) Wallet { return Wallet{newWallet(t)} }

// Transfer makes a transaction that sends a value and data to Sink.
func (w Wallet) Transfer(valueWei int64, data ...byte) *types.Transaction {
	return w.w.send(valueWei, data...)
}

// Again makes a transfer with the same nonce as the transaction before, so that either may be
// included.
func (w Wallet) Again(valueWei int64) *types.Transaction {
	w.w.next = max(w.w.next, 1) - 1
	return w.w.send(valueWei)
}

// Create makes a transaction that runs code to create a contract.
func (w Wallet) Create(code string) *types.Transaction { return w.w.create(0, code) }

// TransferBig makes a transfer of any value and tip cap.
func (w Wallet) TransferBig(valueWei, tipCapWei *big.Int) *types.Transaction {
	return w.w.sign(&types.DynamicFeeTx{Gas: 100_000, To: &sink, Value: valueWei, GasTipCap: tipCapWei,
		GasFeeCap: big.NewInt(feeCapWei)})
}

// Large makes a transaction with that many bytes of data.
func (w Wallet) Large(size int) *types.Transaction {
	return w.w.tx(&sink, 0, 16_000_000, make([]byte, size))
}

// WithAccess makes a transfer with an access list.
func (w Wallet) WithAccess(list types.AccessList) *types.Transaction {
	return w.w.sign(&types.DynamicFeeTx{Gas: 100_000, To: &sink, AccessList: list})
}

// Legacy makes a transfer of the first type of transactions, which has one gas price.
func (w Wallet) Legacy() *types.Transaction {
	tx, err := types.SignNewTx(w.w.PrivateKey, types.LatestSignerForChainID(w.w.chain), &types.LegacyTx{
		Nonce: w.w.next, GasPrice: big.NewInt(feeCapWei), Gas: 100_000, To: &sink,
	})
	w.w.t.Ready(err, "sign a legacy transaction")
	w.w.next++
	return tx
}

// Paying makes a transaction that pays the fee recipient besides its fees.
func (w Wallet) Paying(valueWei int64) *types.Transaction { return w.w.create(valueWei, codePayment) }

// Address returns the wallet's address.
func (w Wallet) Address() common.Address { return w.w.address() }

// Sink returns the address that transfers go to.
func Sink() common.Address { return sink }

// Fees returns the tip cap and the fee cap in wei, and the gas limit, of transfers.
func Fees() (tipCapWei, feeCap, gas uint64) { return tipWei, feeCapWei, 100_000 }

// Share sends a bundle with hints to the target's RPC and returns the hash that it answers. The
// bundle is valid from the next block on, so that its event needs no further block. It is valid for
// five blocks, because on a busy machine two blocks may come while a server works on one.
func Share(t *suite.T, hints []string, txs ...*types.Transaction) common.Hash {
	params := change(makeSoonParams(t, 5), object{"body": body(t, txs...)})
	if hints != nil {
		params["privacy"] = object{"hints": hints}
	}
	return sendOrder(t, "mev_sendBundle", params)
}

// ShareAround is Share for a bundle with one transaction in a bundle inside, and one behind it.
// Both bundles share the hints.
func ShareAround(t *suite.T, hints []string, inner, outer *types.Transaction) common.Hash {
	privacy := object{"privacy": object{"hints": hints}}
	inside := change(change(makeSoonParams(t, 5), object{"body": body(t, inner)}), privacy)
	params := change(makeSoonParams(t, 5), object{"body": append([]object{{"bundle": inside}}, body(t, outer)...)})
	return sendOrder(t, "mev_sendBundle", change(params, privacy))
}

// sendOrder sends an order that prepares a spec, and returns its hash. The spec is inconclusive if
// the order is refused.
func sendOrder(t *suite.T, method string, params ...any) common.Hash {
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

// Private sends a private transaction and returns the hash that the RPC answers. Preferences may be
// nil.
func Private(t *suite.T, tx *types.Transaction, preferences map[string]any) common.Hash {
	params := object{"tx": encodeTx(t, tx)}
	if preferences != nil {
		params["preferences"] = preferences
	}
	return sendOrder(t, "eth_sendPrivateTransaction", params)
}

// PrivateRaw sends a private transaction by position and returns the hash that the RPC answers.
func PrivateRaw(t *suite.T, tx *types.Transaction, preferences map[string]any) common.Hash {
	return sendOrder(t, "eth_sendPrivateRawTransaction", encodeTx(t, tx), preferences)
}

// SendAndCancel sends a private transaction that shares its hash, and cancels it at once.
func SendAndCancel(t *suite.T, tx *types.Transaction) {
	signer := key(t)
	param := object{"tx": encodeTx(t, tx), "preferences": object{"fast": false,
		"privacy": object{"hints": []string{"hash"}}}}
	if answer := call(t, signer, "eth_sendPrivateTransaction", param); answer.Refused() {
		t.Inconclusive("the private transaction is refused: %s", answer)
	}
	answer := call(t, signer, "eth_cancelPrivateTransaction", object{"txHash": tx.Hash().Hex()})
	if string(answer.Members["result"]) != "true" {
		t.Inconclusive("the private transaction is not cancelled: %s", answer)
	}
}

// Publish sends a transaction to the world's public pool and waits until it is in a block.
func Publish(t *suite.T, tx *types.Transaction) {
	var hash string
	ask(t, &hash, "eth_sendRawTransaction", encodeTx(t, tx))
	if waitLanded(t, tx, slots(t, 12)) == nil {
		t.Inconclusive("a public transaction did not land")
	}
}

// Simulate has the target simulate a transaction, which must cause no event.
func Simulate(t *suite.T, tx *types.Transaction) { simulate(t, nil, tx) }

// CallOthers calls every method of the RPC that takes no order, about a transaction that is no
// order.
func CallOthers(t *suite.T, tx *types.Transaction) {
	signer, hash := key(t), tx.Hash().Hex()
	own := crypto.PubkeyToAddress(signer.PublicKey).Hex()
	tryCall(t, signer, "mev_simBundle", change(newestParams(t, tx), noRefunds))
	tryCall(t, signer, "eth_callBundle", object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(head(t) + 1),
		"stateBlockNumber": "latest"})
	tryCall(t, signer, "eth_cancelBundle", object{"replacementUuid": uuid(t)})
	tryCall(t, signer, cancelPrivateMethod, object{"txHash": hash})
	tryCall(t, signer, totalsOf, own)
	tryCall(t, signer, byRecipient, object{"recipient": own})
	tryCall(t, signer, byBundle, object{"bundle_hash": hash})
	tryCall(t, signer, byBlock, object{"block_number": hexNumber(head(t))})
	tryCall(t, signer, "flashbots_setFeeRefundRecipient", own, sink.Hex())
	tryCall(t, signer, delayedList, object{"recipient": own})
	tryCall(t, signer, delayedTotals, object{"recipient": own})
}

// Head returns the number of the world's newest block.
func Head(t *suite.T) uint64 { return head(t) }

// WaitForBlock waits until the world's chain has a block.
func WaitForBlock(t *suite.T, number uint64) { waitForBlock(t, number) }

// Hash returns the hash of a bundle of these transactions.
func Hash(txs ...*types.Transaction) common.Hash { return bundleHash(txs...) }

// SimulateShared has the target simulate a bundle that shares its hash, by mev_simBundle, which
// must cause no event.
func SimulateShared(t *suite.T, tx *types.Transaction) {
	simulateWell(t, change(newestParams(t, tx), object{"privacy": object{"hints": []string{"hash"}}}))
}

// WaitBeforeFork begins a spec that goes over a fork; see waitBeforeFork.
func WaitBeforeFork(t *suite.T, atLeast uint64) { waitBeforeFork(t, atLeast) }

// WaitNearFork waits until the target takes orders for blocks after the fork.
func WaitNearFork(t *suite.T) { waitNearFork(t) }

// WaitOverFork waits until blocks of the new fork are known.
func WaitOverFork(t *suite.T) { waitOverFork(t) }

// FirstBlockOfFork returns the number of a block that is in the new fork.
func FirstBlockOfFork(t *suite.T) uint64 { return firstBlockOfFork(t) }

// OfNextFork makes a transaction that logs something if it is executed by the rules of the world's
// second fork, and fails by those of the first.
func (w Wallet) OfNextFork() *types.Transaction { return w.w.create(0, codeOfNextFork(w.w.t)) }

// ShareFor is Share for a bundle of given blocks.
func ShareFor(t *suite.T, hints []string, from, to uint64, txs ...*types.Transaction) common.Hash {
	return sendOrder(t, "mev_sendBundle", change(share(t, txs...), object{"privacy": object{"hints": hints},
		"inclusion": object{"block": hexNumber(from), "maxBlock": hexNumber(to)}}))
}

// MeasureWorth simulates a transaction and returns what it pays for each gas, and the gas.
func MeasureWorth(t *suite.T, tx *types.Transaction) (mevGasPriceWei, gasUsed *big.Int) {
	m := simulateWell(t, newestParams(t, tx))
	return readQuantity(t, m, "mevGasPrice"), readQuantity(t, m, "gasUsed")
}
