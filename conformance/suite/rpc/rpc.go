// Package rpc has the specs of the bundle RPC, with one file for each method or topic.
//
//	spec ─signed request─▶ target ◀─follows─ world ◀─nonce, head─ spec
package rpc

import (
	"crypto/ecdsa"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// Specs adds all specs of the bundle RPC to a set.
func Specs(s *suite.Set) {
	s.Sane("rpc", checkWorld)
	for _, add := range []func(*suite.Set){
		describeEnvelope, describeFailures, describeAuthentication, describeVersions, describeSendBundle,
		describeCallBundle, describeCallModel, describeCancelBundle, describeSendShare, describeSimBundle,
		describeSendPrivate,
		describeSendPrivateRaw, describeCancelPrivate,
		describeRefunds, describeSetRecipient, describeDelayedRefunds, describeWholeBundles, describeCancelledBundles,
		describeOfferedBlocks, describeFastMode, describePrivateRefunds, describeBackruns, describeRefundsPaid,
		describeBundleTerms, describeShareTerms, describeWholeShares, describePrivateTerms, describeTimeouts,
		describeRefundLists, describeDelayedLists,
		describeFollowers, describeBrowsers, describeStatistics, describeDeployedDialect, describeLiteral,
		describeOrdersOverFork, describeCancelsOverFork, describeCallsOverFork, describeRefundsOverFork,
	} {
		add(s)
	}
}

// key makes a random signer, which only this spec has.
func key(t *suite.T) *ecdsa.PrivateKey {
	for {
		seed := make([]byte, 32)
		for i := range seed {
			seed[i] = byte(t.Random.Uint32())
		}
		if k, err := crypto.ToECDSA(seed); err == nil {
			return k
		}
	}
}

func client(t *suite.T) *probe.Client { return t.Client(t.Target.RPC.URL) }

// call sends a signed request. Params are the elements of its list of parameters. The spec is
// unsupported if the target does not know the method: that is no refusal of the call.
func call(t *suite.T, signer *ecdsa.PrivateKey, method string, params ...any) *probe.RPCAnswer {
	answer := tryCall(t, signer, method, params...)
	if isUnknownMethod(answer) {
		t.Unsupported("%s is not known: %s", method, answer)
	}
	return answer
}

// tryCall is call for a method that may be unknown.
func tryCall(t *suite.T, signer *ecdsa.PrivateKey, method string, params ...any) *probe.RPCAnswer {
	if params == nil {
		params = []any{}
	}
	answer, err := client(t).Call(t, signer, probe.Call{Method: method, Params: params, ID: 1})
	t.Check(err == nil, "an answer", err)
	return answer
}

// isUnknownMethod says whether the answer means that there is no such method: by its code, or by
// the words that servers without codes have for it.
func isUnknownMethod(answer *probe.RPCAnswer) bool {
	text := strings.ToLower(string(answer.Members["error"]))
	return answer.Code() == -32601 || strings.Contains(text, "method not found") ||
		strings.Contains(text, "does not exist/is not available")
}

// readResult decodes the result of a call. It fails the spec unless the call succeeded.
func readResult(t *suite.T, answer *probe.RPCAnswer, into any) {
	t.Check(answer.Status == 200 && !answer.Refused(), "status 200 and a result", answer)
	err := answer.Result(into)
	t.Check(err == nil, "a result of the documented form", err)
}

// checkRefused fails the spec unless the answer is a refusal with a status below 500. A status
// without an error member is accepted, as lenient, if it can only mean a refusal. 404 is not: it
// may also mean that there is no such service.
func checkRefused(t *suite.T, answer *probe.RPCAnswer) {
	t.Check(answer.Refused() && answer.Status < 500, "a refusal with a status below 500", answer)
	if answer.Members["error"] == nil {
		t.Check(slices.Contains([]int{400, 401, 403, 413, 415}, answer.Status), "an error member", answer)
		t.Lenient("a status in place of an error member")
	}
	if _, both := answer.Members["result"]; both && string(answer.Members["result"]) != "null" {
		t.Check(false, "no result beside the error", answer)
	}
}

// wallet is an account with money.
type wallet struct {
	*ecdsa.PrivateKey

	t     *suite.T
	next  uint64
	chain *big.Int
}

func newWallet(t *suite.T) *wallet {
	account, err := t.World.Account(t)
	t.Ready(err, "get an account")
	k, err := crypto.ToECDSA(hexutil.MustDecode(account.SecretKey))
	t.Ready(err, "read the account's key")
	waitBegun(t)
	return &wallet{PrivateKey: k, t: t, chain: new(big.Int).SetUint64(t.World.Facts.ChainID)}
}

// waitBegun waits for three slots after genesis: then the world's chain has a block, and the target
// has had time to see it.
func waitBegun(t *suite.T) {
	t.Until(t.World.Facts.At(3))
}

func (w *wallet) address() common.Address { return crypto.PubkeyToAddress(w.PublicKey) }

// tipWei is the priority fee of all transactions; feeCapWei is above any base fee of the world.
const (
	tipWei    = 1_000_000_000
	feeCapWei = 100_000_000_000
)

// sink is an address without a known key.
var sink = common.HexToAddress("0x00000000000000000000000000000000c0ffee00")

// send makes a transfer with the wallet's next nonce.
func (w *wallet) send(valueWei int64, data ...byte) *types.Transaction {
	return w.tx(&sink, valueWei, 100_000, data)
}

// create makes a transaction that runs code to create a contract.
func (w *wallet) create(valueWei int64, code string) *types.Transaction {
	return w.tx(nil, valueWei, 200_000, common.FromHex(code))
}

func (w *wallet) tx(to *common.Address, valueWei int64, gas uint64, data []byte) *types.Transaction {
	return w.sign(&types.DynamicFeeTx{Gas: gas, To: to, Value: big.NewInt(valueWei), Data: data})
}

// sendCapped makes a transfer that tips all that its fee cap leaves.
func (w *wallet) sendCapped(feeCapWei int64) *types.Transaction {
	return w.sign(&types.DynamicFeeTx{Gas: 100_000, To: &sink, Value: new(big.Int),
		GasTipCap: big.NewInt(feeCapWei), GasFeeCap: big.NewInt(feeCapWei)})
}

// sign completes a transaction by the chain, the usual fees unless it has others, and the wallet's
// next nonce, and signs it.
func (w *wallet) sign(inner *types.DynamicFeeTx) *types.Transaction {
	inner.ChainID, inner.Nonce = w.chain, w.next
	if inner.GasFeeCap == nil {
		inner.GasTipCap, inner.GasFeeCap = big.NewInt(tipWei), big.NewInt(feeCapWei)
	}
	tx, err := types.SignNewTx(w.PrivateKey, types.LatestSignerForChainID(w.chain), inner)
	w.t.Ready(err, "sign a transaction")
	w.next++
	return tx
}

func encodeTx(t *suite.T, tx *types.Transaction) string {
	data, err := tx.MarshalBinary()
	t.Ready(err, "encode a transaction")
	return hexutil.Encode(data)
}

func encodeTxs(t *suite.T, txs ...*types.Transaction) []string {
	list := make([]string, len(txs))
	for i, tx := range txs {
		list[i] = encodeTx(t, tx)
	}
	return list
}

// bundleHash is the Keccak-256 of the concatenated hashes of the transactions.
func bundleHash(txs ...*types.Transaction) common.Hash {
	var all []byte
	for _, tx := range txs {
		all = append(all, tx.Hash().Bytes()...)
	}
	return crypto.Keccak256Hash(all)
}

// head returns the number of the world's newest block.
func head(t *suite.T) uint64 {
	var number hexutil.Uint64
	ask(t, &number, "eth_blockNumber")
	return uint64(number)
}

// ask calls a method of the world's execution node. The spec is inconclusive if that fails.
func ask(t *suite.T, into any, method string, params ...any) {
	if params == nil {
		params = []any{}
	}
	answer, err := probe.NewClient(t.World.Facts.ExecutionURL, nil, 10*time.Second).Call(t, nil,
		probe.Call{Method: method, Params: params, ID: 1})
	t.Ready(err, "ask the execution node")
	t.Ready(answer.Result(into), "ask the execution node")
}

func hexNumber(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// object is one JSON object.
type object = map[string]any

// bundle makes valid parameters of eth_sendBundle, for the third block from now, so that it is not
// past before it is processed.
func bundle(t *suite.T, txs ...*types.Transaction) object {
	return object{"txs": encodeTxs(t, txs...), "blockNumber": hexNumber(head(t) + 3)}
}

// change returns a copy of the object with changed members. A member that is changed to nil is
// removed.
func change(o object, changes object) object {
	copied := object{}
	for name, value := range o {
		copied[name] = value
	}
	for name, value := range changes {
		if copied[name] = value; value == nil {
			delete(copied, name)
		}
	}
	return copied
}

// readQuantity returns a member as a number. It fails the spec unless the member is a quantity in
// hexadecimal.
func readQuantity(t *suite.T, members map[string]json.RawMessage, name string) *big.Int {
	var text string
	err := json.Unmarshal(members[name], &text)
	number, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	t.Check(err == nil && ok && strings.HasPrefix(text, "0x"), name+" as a hexadecimal number", string(members[name]))
	return number
}
