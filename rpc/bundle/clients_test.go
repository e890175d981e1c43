package bundle

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

// bodies are what clients send for one and the same order, each in its own way.
type bodies struct {
	order  string
	read   func(params json.RawMessage, in Intake) (*rpc.Order, error)
	bodies []clientBody
}

type clientBody struct{ client, body string }

var clients = []bodies{
	{"a bundle of two for the next block", readSendBundleOrder, []clientBody{
		{"curl", `{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["$A","$B"],"blockNumber":"0x65"}]}`},
		{"ethers-provider-bundle",
			`{"params":[{"txs":["$A","$B"],"blockNumber":"0x65"}],"method":"eth_sendBundle","id":42,"jsonrpc":"2.0"}`},
		{"flashbotsrpc",
			`{"id":1,"jsonrpc":"2.0","method":"eth_sendBundle","params":[{"txs":["$A","$B"],"blockNumber":"0x65","minTimestamp":0,` +
				`"maxTimestamp":0}]}`},
		{"lmittmann/flashbots",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["$A","$B"],"blockNumber":"0x65",` +
				`"replacementUuid":"00000000-0000-0000-0000-000000000000"}]}`},
		{"alloy", `{"method":"eth_sendBundle","params":[{"txs":["$A","$B"],"blockNumber":"0x65","revertingTxHashes":[]}],"id":0,"jsonrpc":"2.0"}`},
		{"web3-flashbots",
			`{"jsonrpc": "2.0", "method": "eth_sendBundle", "params": [{"txs": ["$A", "$B"], "blockNumber": "0x65", "minTimestamp": 0, ` +
				`"maxTimestamp": 0, "revertingTxHashes": [], "replacementUuid": null}], "id": 7}`},
		{"ethers-flashbots",
			`{"id":3,"jsonrpc":"2.0","method":"eth_sendBundle","params":[{"txs":["$A","$B"],"revertingTxHashes":[],` +
				`"blockNumber":"0x65","stateBlockNumber":"0x64","timestamp":1212,"baseFee":0}]}`},
		{"a BuilderNet proxy",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"version":"v2","txs":["$A","$B"],"blockNumber":null,` +
				`"minTimestamp":null,"maxTimestamp":null,"revertingTxHashes":null,"droppingTxHashes":null,"refundPercent":null,"refundTxHashes":null,` +
				`"replacementNonce":null,"signingAddress":null,"refundIdentity":null}]}`},
	}},
	{"a replaceable bundle with a transaction that may revert", readSendBundleOrder, []clientBody{
		{"ethers-provider-bundle", `{"params":[{"txs":["$A"],"blockNumber":"0x66","minTimestamp":1210,"maxTimestamp":1300,` +
			`"revertingTxHashes":["#A"],"replacementUuid":"$U"}],"method":"eth_sendBundle","id":42,"jsonrpc":"2.0"}`},
		{"lmittmann/flashbots",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["$A"],"blockNumber":"0x66",` +
				`"minTimestamp":1210,"maxTimestamp":1300,"revertingTxHashes":["#A"],"replacementUuid":"D9A3AE52-47A2-4B3E-9D29-6D3BD2D1B7F0"}]}`},
		{"a BuilderNet proxy",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["$A"],"blockNumber":102,"minTimestamp":"0x4ba",` +
				`"maxTimestamp":"1300","revertingTxHashes":["#A","#C"],"uuid":"$U"}]}`},
	}},
	{"a backrun", ReadSendShare, []clientBody{
		{"mev-share-client-ts",
			`{"params":[{"version":"v0.1","inclusion":{"block":"0x65","maxBlock":"0x6a"},"body":[{"hash":"#A"},{"tx":"$B",` +
				`"canRevert":false}],"validity":{"refund":[],"refundConfig":[]},"privacy":{"builders":["flashbots"]}}],"method":"mev_sendBundle","id":69,` +
				`"jsonrpc":"2.0"}`},
		{"mev-share-go",
			`{"id":1,"jsonrpc":"2.0","method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":{"block":"0x65","maxBlock":"0x6a"},` +
				`"body":[{"hash":"#A"},{"tx":"$B"}],"validity":{"refund":null,"refundConfig":null},"privacy":{"hints":null,"builders":["Flashbots"]},` +
				`"metadata":{"bundleHash":"0x0000000000000000000000000000000000000000000000000000000000000000","signer":"0x0000000000000000000000000000000000000000",` +
				`"matchingHash":"0x0000000000000000000000000000000000000000000000000000000000000000","prematched":false}}]}`},
		{"alloy", `{"method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":{"block":"0x65","maxBlock":"0x6a"},"body":[{"hash":"#A"},` +
			`{"tx":"$B","canRevert":false}],"privacy":{"builders":["default"]}}],"id":0,"jsonrpc":"2.0"}`},
		{"mev-share-rs",
			`{"jsonrpc":"2.0","id":0,"method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":{"block":"0x65","maxBlock":"0x6a"},` +
				`"body":[{"hash":"#A"},{"tx":"$B","canRevert":false}],"validity":{},"privacy":{"builders":["vendor"]}}]}`},
	}},
	{"a bundle with a split refund", ReadSendShare, []clientBody{
		{"mev-share-client-ts",
			`{"params":[{"version":"v0.1","inclusion":{"block":"0x65"},"body":[{"tx":"$A","canRevert":false},{"tx":"$B",` +
				`"canRevert":true}],"validity":{"refund":[{"bodyIdx":0,"percent":90}],"refundConfig":[{"address":"@","percent":100}]},` +
				`"privacy":{"hints":["hash","calldata"]},"metadata":{"originId":"me"}}],"method":"mev_sendBundle","id":69,"jsonrpc":"2.0"}`},
		{"mev-share-go",
			`{"id":1,"jsonrpc":"2.0","method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":{"block":"0x65","maxBlock":"0x0"},` +
				`"body":[{"tx":"$A"},{"tx":"$B","canRevert":true}],"validity":{"refund":[{"bodyIdx":0,"percent":90}],"refundConfig":[{"address":"@",` +
				`"percent":100}]},"privacy":{"hints":["hash","calldata"]}}]}`},
		{"alloy", `{"method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":{"block":"0x65"},"body":[{"tx":"$A","canRevert":false},{"tx":"$B",` +
			`"canRevert":true}],"validity":{"refund":[{"bodyIdx":"0x0","percent":"0x5a"}],"refundConfig":[{"address":"@","percent":"0x64"}]},` +
			`"privacy":{"hints":["calldata"]}}],"id":0,"jsonrpc":"2.0"}`},
	}},
	{"a private transaction", ReadSendPrivate, []clientBody{
		{"ethers-provider-bundle",
			`{"params":[{"tx":"$A","maxBlockNumber":125}],"method":"eth_sendPrivateTransaction","id":42,"jsonrpc":"2.0"}`},
		{"flashbotsrpc",
			`{"id":1,"jsonrpc":"2.0","method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":"0x7d"}]}`},
		{"lmittmann/flashbots",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":null,` +
				`"preferences":{"fast":false}}]}`},
		{"alloy", `{"method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":"0x7d"}],"id":0,"jsonrpc":"2.0"}`},
		{"web3-flashbots",
			`{"jsonrpc": "2.0", "method": "eth_sendPrivateTransaction", "params": [{"tx": "$A", "maxBlockNumber": 125}], "id": 7}`},
		{"rpc-endpoint",
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":0,` +
				`"preferences":{"fast":false,"privacy":{"hints":null,"builders":null,"useMempool":false,"mempoolRpc":""},"validity":{},` +
				`"canRevert":false,"blockRange":0}}]}`},
	}},
	{"a fast private transaction for two builders", ReadSendPrivate, []clientBody{
		{"mev-share-client-ts",
			`{"params":[{"tx":"$A","maxBlockNumber":"0x6e","preferences":{"fast":true,"privacy":{"hints":["logs","hash"],` +
				`"builders":["default","titan"]},"validity":{"refund":[],"refundConfig":[{"address":"@","percent":10}]}}}],` +
				`"method":"eth_sendPrivateTransaction","id":69,"jsonrpc":"2.0"}`},
		{"alloy", `{"method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":"0x6e","preferences":{"fast":true,"privacy":{` +
			`"hints":["logs"],"builders":["flashbots","titan"]},"validity":{"refund":[{"bodyIdx":"0x0","percent":"0x5a"}],` +
			`"refundConfig":[{"address":"@","percent":"0xa"}]}}}],"id":0,"jsonrpc":"2.0"}`},
	}},
	{"a fast private transaction that gives an address a tenth of the whole", ReadSendPrivate, []clientBody{
		{"mev-share-go",
			`{"id":1,"jsonrpc":"2.0","method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":"0x6e","preferences":{` +
				`"fast":true,"privacy":{"hints":["logs"]},"validity":{"refund":[{"address":"@","percent":10}]},"builders":["default","Titan"]}}]}`},
		{"the interface description",
			`{"id":1,"jsonrpc":"2.0","method":"eth_sendPrivateTransaction","params":[{"tx":"$A","maxBlockNumber":"0x6e",` +
				`"preferences":{"fast":true,"privacy":{"hints":["logs","hash"],"builders":["default","titan"]},"validity":{"refund":[{"address":"@",` +
				`"percent":10}]}}}]}`},
	}},
}

func readSendBundleOrder(params json.RawMessage, in Intake) (*rpc.Order, error) {
	order, _, err := ReadSendBundle(params, in)
	return order, err
}

// Whichever client sends an order, it is the same order.
func TestClientsMeanTheSame(t *testing.T) {
	for _, group := range clients {
		var want *rpc.Order
		for _, c := range group.bodies {
			var request struct{ Params json.RawMessage }
			if err := json.Unmarshal(fill(c.body), &request); err != nil {
				t.Fatalf("%s, %s: %v", group.order, c.client, err)
			}
			got, err := group.read(request.Params, intake())
			if err != nil {
				t.Errorf("%s, %s: %v", group.order, c.client, err)
				continue
			}
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s:\n got %s\nwant %s", group.order, c.client, asJSON(t, got), asJSON(t, want))
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
