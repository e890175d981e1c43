package rpc

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Schemas adds the specs that compare the answers of a bundle RPC with its OpenRPC document.
func Schemas(s *suite.Set, document *suite.Document) {
	tours := map[string]func(*suite.T){suite.Envelope: tourEnvelope}
	for _, op := range document.Operations {
		tours[op.ID] = func(t *suite.T) { tourMethod(t, op.ID) }
	}
	s.Schemas("rpc", document, tours)
}

// tourEnvelope has the target answer requests that are no calls, and an unknown method.
func tourEnvelope(t *suite.T) {
	for _, body := range []string{"{", "[]", "1", `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":"a","method":"eth_nothing","params":[]}`} {
		post(t, body)
	}
	tryCall(t, key(t), "eth_nothing")
}

// tourMethod calls a method without a mistake. A target that does not know the method, or refuses
// the call, has no result that could be compared.
func tourMethod(t *suite.T, method string) {
	signer := key(t)
	var params []any
	switch method {
	case "flashbots_getUserStatsV2", "rpc.discover":
	case "flashbots_getMevRefundTotalByRecipient", "flashbots_getMevRefundTotalBySender":
		params = []any{strangerAddress(t)}
	case "flashbots_getUserStats":
		if t.World != nil {
			params = []any{hexNumber(head(t))}
		}
	case "flashbots_getFeeRefundsByBundle":
		params = []any{object{"bundle_hash": common.Hash{1}.Hex()}}
	case "flashbots_getBundleStats", "flashbots_getBundleStatsV2", "gavel_getOrderStatus", "eth_estimateGasBundle",
		"mev_simBundle",
		"eth_sendRawTransaction":
		if t.World == nil {
			return
		}
		tourOrder(t, method)
		return
	default:
		if params = rightParams(t, signer, method); params == nil {
			return
		}
	}
	tryCall(t, signer, method, params...)
}

// tourOrder calls a method that is about an order that was sent, or about a transaction.
func tourOrder(t *suite.T, method string) {
	signer, tx := key(t), newWallet(t).send(1)
	switch method {
	case "mev_simBundle":
		tryCall(t, signer, method, newestParams(t, tx))
		return
	case "eth_sendRawTransaction":
		tryCall(t, signer, method, encodeTx(t, tx))
		return
	case "eth_estimateGasBundle":
		tryCall(t, signer, method, object{"txs": encodeTxs(t, tx), "blockNumber": hexNumber(head(t) + 1)})
		return
	}
	order := bundle(t, tx)
	if answer := tryCall(t, signer, "eth_sendBundle", order); answer.Refused() {
		t.Inconclusive("the bundle is refused: %s", answer)
	}
	if method == "gavel_getOrderStatus" {
		tryCall(t, signer, method, bundleHash(tx).Hex())
		return
	}
	tryCall(t, signer, method, object{"bundleHash": bundleHash(tx).Hex(), "blockNumber": order["blockNumber"]})
}
