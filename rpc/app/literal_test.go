package app

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/rpc"
)

// said is an answer in short.
func (a answer) said() string {
	if a.Error != nil {
		return a.Error.Message
	}
	return "ok " + string(a.Result)
}

// In literal mode a bundle that follows a hash can be simulated, once for an order and block: the
// answer is one bit, and where it would be a second one there is none.
func TestLiteralMatchedSimulation(t *testing.T) {
	h := openService(t, func(cfg *Config) { cfg.Literal = true })
	var target common.Hash
	h.want(&target, accountKey(0), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(h.tipping(0, 0, 2))})
	waitFor(h, "hint", func(f rpc.OrderShared) bool { return f.Hash == target })
	bundle := func(backrun *types.Transaction) map[string]any {
		return map[string]any{
			"version": "v0.1", "inclusion": map[string]any{"block": hexNumber(h.next())},
			"body": []any{map[string]any{"hash": doubleOf(target)}, map[string]any{"tx": rawOf(backrun), "canRevert": false}},
		}
	}
	works, fails := bundle(h.tipping(1, 0, 50)), bundle(h.tipping(1, 7, 50))
	h.refused(rpc.InvalidParams, accountKey(6), "mev_simBundle", works, map[string]any{"timestamp": 1})
	h.refused(rpc.BackrunNotFound, accountKey(6), "mev_simBundle", map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": hexNumber(h.next())},
		"body": []any{map[string]any{"hash": common.Hash{1}}, map[string]any{"tx": rawOf(h.tipping(1, 0, 1))}},
	})
	want := func(bundle map[string]any, want string) {
		t.Helper()
		got := h.call(accountKey(6), "mev_simBundle", bundle, map[string]any{"parentBlock": "latest"})
		if got.said() != "ok "+want {
			t.Errorf("%s, want %s", got.said(), want)
		}
	}
	want(works, `{"success":true,"stateBlock":"`+hexNumber(h.next()-1)+
		`","mevGasPrice":"0x0","profit":"0x0","refundableValue":"0x0","gasUsed":"0x0"}`)
	h.refused(rpc.BackrunLimited, accountKey(6), "mev_simBundle", fails)
	h.refused(rpc.BackrunLimited, accountKey(7), "mev_simBundle", works) // another key is not another follower
	h.builder.forget()
	h.mine()
	h.waitForIndexed()
	fails = bundle(h.tipping(1, 7, 50))
	want(fails, `{"success":false,"error":"it could not be included behind the order that it follows","stateBlock":"`+
		hexNumber(h.next()-1)+
		`","mevGasPrice":"0x0","profit":"0x0","refundableValue":"0x0","gasUsed":"0x0"}`)
	if got := waitFor(h, "charge", func(f rpc.CallSimulated) bool { return !f.Success }); got.GasUsed != 21_000 {
		t.Errorf("it costs %d gas", got.GasUsed)
	}
}
