package rpc

import (
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// A refusal shows something only if the same call without the mistake is no refusal. So specs of
// refusals begin with a right call.

const cancelPrivateMethod = "eth_cancelPrivateTransaction"

// harmlessCalls are calls that a server can answer without a chain, and that change nothing.
func harmlessCalls() []probe.Call {
	return []probe.Call{
		{Method: cancelPrivateMethod, Params: []any{object{"txHash": common.Hash{1}.Hex()}}},
		{Method: "eth_cancelBundle", Params: []any{object{"replacementUuid": "7b5ac4a6-0d0e-4e44-8b0e-2f2a5c1f6d11"}}},
		{Method: "flashbots_getFeeRefundTotalsByRecipient", Params: []any{sink.Hex()}},
		{Method: "buildernet_getDelayedRefundTotalsByRecipient", Params: []any{object{"recipient": sink.Hex()}}},
		{Method: "flashbots_getUserStatsV2", Params: []any{}},
	}
}

// harmlessCall returns the first of harmlessCalls whose method the target knows, with an id. The
// spec is unsupported if it knows none of them.
func harmlessCall(t *suite.T, id any) probe.Call {
	for _, one := range harmlessCalls() {
		if !isUnknownMethod(tryCall(t, key(t), one.Method, one.Params.([]any)...)) {
			one.ID = id
			return one
		}
	}
	t.Unsupported("the target knows no method that can be called without a chain")
	return probe.Call{}
}

func harmlessBody(t *suite.T) []byte { return harmlessCall(t, 1).Body() }

func callHarmless(t *suite.T) *probe.RPCAnswer {
	one := harmlessCall(t, 1)
	return call(t, key(t), one.Method, one.Params.([]any)...)
}

// checkRightCall ends the spec as inconclusive unless a right call of the method succeeds. In black
// mode there is none for methods that take transactions; then only an unknown method ends the spec,
// at its first call.
func checkRightCall(t *suite.T, method string) {
	signer := key(t)
	params := rightParams(t, signer, method)
	if params == nil {
		return
	}
	if answer := call(t, signer, method, params...); answer.Refused() {
		t.Inconclusive("%s refuses a call without a mistake: %s", method, answer)
	}
}

// rightParams returns parameters without a mistake; nil if they need a world and there is none.
func rightParams(t *suite.T, signer *ecdsa.PrivateKey, method string) []any {
	switch method {
	case cancelPrivateMethod:
		return []any{object{"txHash": common.Hash{1}.Hex()}}
	case "eth_cancelBundle":
		return []any{object{"replacementUuid": uuid(t)}}
	case "flashbots_setFeeRefundRecipient":
		return []any{crypto.PubkeyToAddress(signer.PublicKey).Hex(), sink.Hex()}
	case totalsOf:
		return []any{strangerAddress(t)}
	case byRecipient, delayedList, delayedTotals:
		return []any{object{"recipient": strangerAddress(t)}}
	case byBlock:
		return []any{object{"block_number": "0x1"}}
	}
	if t.World == nil {
		return nil
	}
	tx := newWallet(t).send(1)
	switch method {
	case "eth_sendBundle":
		return []any{bundle(t, tx)}
	case "eth_callBundle":
		return []any{object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(head(t) + 1), "stateBlockNumber": "latest"}}
	case "mev_sendBundle":
		return []any{share(t, tx)}
	case "eth_sendPrivateTransaction":
		return []any{object{"tx": encodeTx(t, tx), "preferences": quiet}}
	case "eth_sendPrivateRawTransaction":
		return []any{encodeTx(t, tx), quiet}
	}
	panic("no right call of " + method) // a mistake in the suite
}
