package rpc

import (
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// checkWorld ends as inconclusive if the RPC does not live in the world: if it says so itself, by
// another chain's id, or if nobody has asked the world's execution node, even after a simulation.
func checkWorld(t *suite.T) {
	if t.World == nil {
		return
	}
	var id hexutil.Uint64
	if answer, err := client(t).Call(t, key(t), probe.Call{Method: "eth_chainId", Params: []any{}, ID: 1}); err == nil &&
		answer.Result(&id) == nil && id > 0 &&
		uint64(id) != t.World.Facts.ChainID {
		t.Inconclusive("the RPC follows another chain than the world's: its eth_chainId is %d, and the world's is %d", id,
			t.World.Facts.ChainID)
	}
	err := t.Eventually(slots(t, 4), func() error {
		tryCall(t, key(t), "eth_callBundle", object{"txs": encodeTxs(t, newWallet(t).send(1)),
			"blockNumber":      hexNumber(head(t) + 1),
			"stateBlockNumber": "latest"})
		asked, err := t.World.Followers(t)
		if err == nil && asked.Execution == 0 {
			return errNotFollowed
		}
		return nil // a world that cannot tell proves nothing
	})
	if err != nil {
		t.Inconclusive("the RPC does not follow the world: nobody has asked its execution node at %s",
			t.World.Facts.ExecutionURL)
	}
}

// errNotFollowed is why the check looks again.
const errNotFollowed = errText("nobody has asked the node")
