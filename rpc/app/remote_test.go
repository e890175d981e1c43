package app

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/rpc"
)

// With an execution node by URL everything works as with a chain in this process: simulation,
// landing, refund, and a call.
func TestExecutionNodeByURL(t *testing.T) {
	h := openChain(t)
	nodes, err := simulate.NewRemote(simulate.RemoteOptions{URLs: []string{h.node.RPCURL()},
		PollEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	chain, err := nodes.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.serve(h.config(func(cfg *Config) {
		cfg.Chain, cfg.States, cfg.ChainConfig = nodes, nodes, chain
		cfg.FetchAhead = func(s exec.Simulator) exec.Simulator { return simulate.Warmed{Simulator: s, States: nodes} }
	}))
	signer, recipient := accountKey(7), common.Address{0xaa}
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	var called struct {
		CoinbaseDiff     string `json:"coinbaseDiff"`
		StateBlockNumber uint64 `json:"stateBlockNumber"`
	}
	h.want(&called, signer, "eth_callBundle", map[string]any{"txs": []string{rawOf(tx)},
		"blockNumber": hexNumber(h.next())})
	if called.CoinbaseDiff != "21000000000000" || called.StateBlockNumber != 1 {
		t.Errorf("%+v", called)
	}
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{"txs": []string{rawOf(tx)}, "refundPercent": 40,
		"refundRecipient": recipient})
	<-h.builder.got
	block := h.mine()
	end := waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == got.BundleHash })
	if end.State != rpc.Landed || end.BlockHash != block.Hash() || end.ValueWei.Uint64() != 21_000*1e9 {
		t.Errorf("%+v", end)
	}
	if credit := waitFor(h, "refund", func(rpc.RefundCredited) bool {
		return true
	}); credit.AmountWei.Uint64() != 21_000*1e9/100*40 {
		t.Errorf("%+v", credit)
	}
}
