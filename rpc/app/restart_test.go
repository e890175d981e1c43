package app

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

type taken struct {
	BundleHash common.Hash `json:"bundleHash"`
	Smart      string      `json:"smart"`
}

type orderStatus struct {
	State string `json:"state"`
	Why   string `json:"why"`
	Block string `json:"block"`
	Paid  string `json:"paid"`
}

// A bundle is simulated, sent to the builder, and in the next block; its signer can see all that.
func TestBundleLands(t *testing.T) {
	h := openService(t, nil)
	signer := accountKey(7)
	a, b := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{2}, 6)
	var got taken
	h.want(&got, signer, "eth_sendBundle", map[string]any{"txs": []string{rawOf(a), rawOf(b)},
		"blockNumber": hexNumber(h.next())})
	if want := crypto.Keccak256Hash(a.Hash().Bytes(), b.Hash().Bytes()); got.BundleHash != want || got.Smart != "" {
		t.Fatalf("%+v, want %s", got, want)
	}
	sent := <-h.builder.got
	if sent.method != "eth_sendBundle" || len(sent.Txs) != 2 || sent.signature == "" {
		t.Errorf("the builder got %s", sent.body)
	}
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash == got.BundleHash && f.Error == "" })
	var status orderStatus
	h.want(&status, signer, "gavel_getOrderStatus", got.BundleHash)
	if status.State != "sent" {
		t.Errorf("status %+v", status)
	}
	h.refused(rpc.OrderUnknown, accountKey(6), "gavel_getOrderStatus", got.BundleHash) // is nobody else's affair

	block := h.mine()
	if len(block.Transactions()) != 2 {
		t.Fatalf("%d transactions in the block", len(block.Transactions()))
	}
	end := waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == got.BundleHash })
	if end.State != rpc.Landed || end.Block != block.NumberU64() || end.ValueWei.Uint64() != 2*21_000*1e9 {
		t.Errorf("%+v", end)
	}
	h.waitForIndexed()
	h.want(&status, signer, "gavel_getOrderStatus", got.BundleHash)
	if status.State != "landed" || status.Block != hexNumber(block.NumberU64()) || status.Paid != hexNumber(2*21_000*1e9) {
		t.Errorf("status %+v", status)
	}
}

// What was there before a restart is there after it, and what happened on the chain meanwhile is
// made up for.
//
//gavel:fault restart
func TestRestart(t *testing.T) {
	h := openChain(t)
	dir := t.TempDir()
	stop := h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	landing, waiting := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{1}, 5)
	var hashes [2]common.Hash
	h.want(&hashes[0], accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(landing)})
	<-h.builder.got
	h.mine()
	h.want(&hashes[1], accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(waiting)})
	<-h.builder.got
	h.waitForIndexed()
	stop()

	h.mine() // lands it while nobody looks
	h.facts.reset()
	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	if end := waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == hashes[1] }); end.State != rpc.Landed {
		t.Errorf("%+v", end)
	}
	var status orderStatus
	h.want(&status, accountKey(7), "gavel_getOrderStatus", hashes[0])
	if status.State != "landed" || status.Paid != hexNumber(21_000*1e9) {
		t.Errorf("the first one after the restart: %+v", status)
	}
}

// What the pool has forgotten the ledger still knows.
func TestStatusOfLongAgo(t *testing.T) {
	h := openService(t, nil)
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	var hash common.Hash
	h.want(&hash, accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(tx)})
	<-h.builder.got
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash == hash })
	block := h.mine()
	for range 75 {
		h.mine()
	}
	h.waitForIndexed()
	h.eventually("the order", func() bool {
		var status orderStatus
		h.want(&status, accountKey(7), "gavel_getOrderStatus", hash)
		forgotten := h.app.lifecycle.Status(addressOf(accountKey(7)), hash) == nil
		return forgotten && status.State == "landed" && status.Block == hexNumber(block.NumberU64()) &&
			status.Paid == hexNumber(21_000*1e9)
	})
	h.refused(rpc.OrderUnknown, accountKey(6), "gavel_getOrderStatus", hash)
}
