package app

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// ways is what is answered by default, and what with --literal. Answers are compared by how they
// begin; "ok" is any result.
type ways struct{ standard, literal string }

// said is an answer in short.
func (a answer) said() string {
	if a.Error != nil {
		return a.Error.Message
	}
	return "ok " + string(a.Result)
}

// TestLiteral has a row of docs/differences.md in each case: what gavel does by default, and what
// it does with --literal.
func TestLiteral(t *testing.T) {
	raw := func(h *service) string { return rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5)) }
	share := func(h *service, more string) json.RawMessage {
		return json.RawMessage(
			fmt.Sprintf(`{"version":"v0.1","inclusion":{"block":%q},"body":[{"tx":%q,"canRevert":false}]%s}`,
				hexNumber(h.next()), raw(h), more))
	}
	sim := func(more string) func(h *service) string {
		return func(h *service) string {
			return h.call(accountKey(6), "mev_simBundle", share(h, more), json.RawMessage(`{"parentBlock":"latest"}`)).said()
		}
	}
	const refunds = `,"validity":{"refund":[],"refundConfig":[]}`
	for name, c := range map[string]struct {
		ask  func(h *service) string
		want ways
	}{
		"eth_sendBundle without blockNumber": {func(h *service) string {
			return h.call(accountKey(6), "eth_sendBundle", map[string]any{"txs": []string{raw(h)}}).said()
		}, ways{"ok", "bundle missing blockNumber"}},
		"eth_callBundle without stateBlockNumber": {func(h *service) string {
			return h.call(accountKey(6), "eth_callBundle", map[string]any{"txs": []string{raw(h)},
				"blockNumber": hexNumber(h.next())}).said()
		}, ways{"ok", "invalid params: params[0].stateBlockNumber: missing"}},
		"mev_simBundle without validity.refund": {sim(""),
			ways{"ok", "invalid params: params[0].validity.refund: missing"}},
		"mev_simBundle without validity.refundConfig": {sim(`,"validity":{"refund":[]}`),
			ways{"ok", "invalid params: params[0].validity.refundConfig: missing"}},
		"mev_simBundle with both": {sim(refunds), ways{"ok", "ok"}},
		"preferences without fast": {func(h *service) string {
			return h.call(accountKey(6), "eth_sendPrivateTransaction",
				map[string]any{"tx": raw(h), "preferences": map[string]any{}}).said()
		}, ways{"ok", "invalid params: params[0].preferences.fast: missing"}},
		"no preferences at all": {func(h *service) string {
			return h.call(accountKey(6), "eth_sendPrivateRawTransaction", raw(h)).said()
		}, ways{"ok", "ok"}},
		"the base fee of a simulation": {func(h *service) string {
			head := h.node.Chain().CurrentBlock()
			// can pay the parent's base fee exactly, and next block's, which is below, as well
			tight := h.signed(accountKey(0), &types.DynamicFeeTx{
				ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: new(big.Int).Add(head.BaseFee,
					big.NewInt(params.GWei-1)),
				Gas: 21_000, To: &common.Address{1},
			})
			var got struct{ MevGasPrice string }
			h.want(&got, accountKey(6), "mev_simBundle", json.RawMessage(fmt.Sprintf(
				`{"version":"v0.1","inclusion":{"block":%q},"body":[{"tx":%q,"canRevert":false}]%s}`, hexNumber(h.next()),
				rawOf(tight), refunds)))
			return got.MevGasPrice
		}, ways{hexNumber(params.GWei), hexNumber(params.GWei - 1)}},
		"who gets the refund of a bundle": {func(h *service) string {
			var got taken
			h.want(&got, accountKey(6), "eth_sendBundle", map[string]any{"txs": []string{raw(h)},
				"blockNumber": hexNumber(h.next()), "refundPercent": 50})
			accepted := waitFor(h, "order", func(f rpc.OrderAccepted) bool { return f.Order.Hash() == got.BundleHash })
			return accepted.Order.Bundle.Shares[0].Address.Hex()
		}, ways{addressOf(accountKey(0)).Hex(), addressOf(accountKey(6)).Hex()}},
		"who gets the refund of a shared bundle": {func(h *service) string {
			var got taken
			h.want(&got, accountKey(6), "mev_sendBundle", share(h, `,"privacy":{"hints":["hash"]}`))
			accepted := waitFor(h, "order", func(f rpc.OrderAccepted) bool { return f.Order.Hash() == got.BundleHash })
			return fmt.Sprint(accepted.Order.Bundle.Shares)
		}, ways{"[]", fmt.Sprint([]rpc.Share{{Address: addressOf(accountKey(6)), Percent: 100}})}},
		"a private transaction that pays nothing": {func(h *service) string {
			h.want(new(any), accountKey(6), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(h.tipping(0, 0, 0))})
			// is sent after it, or alone
			h.want(new(any), accountKey(6), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(h.tipping(1, 0, 1))})
			unpaid, paid := h.tipping(0, 0, 0).Hash(), h.tipping(1, 0, 1).Hash()
			h.delivered(paid, h.next())
			if h.app.cfg.Literal {
				h.delivered(unpaid, h.next())
				return "is sent"
			}
			h.facts.mu.Lock()
			defer h.facts.mu.Unlock()
			for _, fact := range h.facts.all {
				if sent, ok := fact.(rpc.OrderSent); ok && sent.Hash == unpaid {
					return "is sent"
				}
			}
			return "is not sent"
		}, ways{"is not sent", "is sent"}},
		"details of refunds after": {func(h *service) string {
			return h.app.cfg.DetailsDelay.String()
		}, ways{"0s", (4 * time.Hour).String()}},
		"totals of refunds every": {func(h *service) string {
			return h.app.cfg.TotalsEvery.String()
		}, ways{"0s", (7 * 24 * time.Hour).String()}},
	} {
		t.Run(name, func(t *testing.T) {
			for literal, want := range map[bool]string{false: c.want.standard, true: c.want.literal} {
				h := openService(t, func(cfg *Config) {
					cfg.Literal, cfg.Simulations = literal, 1
				})
				if got := c.ask(h); !strings.HasPrefix(got, want) {
					t.Errorf("literal %t: %s, want %s", literal, got, want)
				}
			}
		})
	}
}

// Errors of methods that are not V2 are no JSON-RPC errors with --literal; those of V2 methods are,
// and who asks for the other dialect gets it.
func TestLiteralErrors(t *testing.T) {
	for literal, want := range map[bool]int{false: 200, true: 400} {
		h := openService(t, func(cfg *Config) { cfg.Literal = literal })
		if got := h.call(accountKey(6), "flashbots_getBundleStatsV2", map[string]any{}); got.Status != 200 ||
			got.Error == nil || got.Error.Code != jsonrpc.Forms[rpc.InvalidParams.ID].Code {
			t.Errorf("literal %t: V2 answers %d %+v", literal, got.Status, got.Error)
		}
		if got := h.call(accountKey(6), "eth_sendBundle", map[string]any{}); got.Status != want ||
			got.said() != rpc.BundleEmpty.Short {
			t.Errorf("literal %t: %d %s", literal, got.Status, got.said())
		}
	}
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
