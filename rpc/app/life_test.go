package app

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

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

// A private transaction is tried again at each block until it lands; its hash is answered.
func TestPrivateTransactionIsTriedAgain(t *testing.T) {
	h := openService(t, nil)
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	var hash common.Hash
	h.want(&hash, accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(tx)})
	if hash != tx.Hash() {
		t.Errorf("hash %s", hash)
	}
	first := <-h.builder.got
	h.builder.forget() // and loses the slot
	h.mine()
	second := <-h.builder.got
	if first.BlockNumber == second.BlockNumber {
		t.Errorf("sent for %s twice", first.BlockNumber)
	}
	h.mine()
	if end := waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == hash }); end.State != rpc.Landed {
		t.Errorf("%+v", end)
	}
}

// Only the signer can cancel; the builder is told, and nothing is sent any more.
func TestCancel(t *testing.T) {
	h := openService(t, nil)
	signer := accountKey(7)
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	var hash common.Hash
	h.want(&hash, signer, "eth_sendPrivateRawTransaction", rawOf(tx))
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash == hash })
	sent := <-h.builder.got
	var cancelled bool
	h.want(&cancelled, accountKey(6), "eth_cancelPrivateTransaction", map[string]any{"txHash": hash})
	if cancelled {
		t.Error("cancelled by somebody else")
	}
	h.want(&cancelled, signer, "eth_cancelPrivateTransaction", map[string]any{"txHash": hash})
	if !cancelled {
		t.Error("not cancelled by its signer")
	}
	if told := <-h.builder.got; told.method != "eth_cancelBundle" || told.ReplacementUUID != sent.ReplacementUUID {
		t.Errorf("the builder got %s", told.body)
	}
	h.want(&cancelled, signer, "eth_cancelPrivateTransaction", map[string]any{"txHash": hash})
	if cancelled {
		t.Error("cancelled twice")
	}
	h.builder.forget()
	h.mine()
	h.waitForIndexed()
	select {
	case again := <-h.builder.got:
		t.Errorf("sent again: %s", again.body)
	default:
	}
}

// The newest version under a replacementUuid counts; a cancel ends it.
func TestReplaceAndCancelBundle(t *testing.T) {
	h := openService(t, nil)
	signer, uuid := accountKey(7), "e9ced844-16d5-4884-8507-db9338950c5c"
	send := func(tx *types.Transaction) common.Hash {
		var got taken
		h.want(&got, signer, "eth_sendBundle", map[string]any{
			"txs": []string{rawOf(tx)}, "blockNumber": hexNumber(h.next()), "replacementUuid": uuid,
			"builders": []string{"Nobody"},
		})
		if got.Smart != "true" {
			t.Errorf("smart %q", got.Smart)
		}
		return got.BundleHash
	}
	first := send(h.tx(accountKey(0), 0, common.Address{1}, 5))
	one := <-h.builder.got
	second := send(h.tx(accountKey(0), 0, common.Address{1}, 6))
	two := <-h.builder.got
	if one.ReplacementUUID == "" || one.ReplacementUUID == uuid || one.ReplacementUUID != two.ReplacementUUID {
		t.Errorf("the builder knows them as %q and %q", one.ReplacementUUID, two.ReplacementUUID)
	}
	if end := waitFor(h, "end", func(f rpc.OrderEnded) bool {
		return f.Hash == first
	}); end.State != rpc.Cancelled || end.Reason != "replaced" {
		t.Errorf("%+v", end)
	}
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash == second })
	var null any
	h.want(&null, signer, "eth_cancelBundle", map[string]any{"replacementUuid": uuid})
	if null != nil {
		t.Errorf("result %v", null)
	}
	if told := <-h.builder.got; told.method != "eth_cancelBundle" || told.ReplacementUUID != one.ReplacementUUID {
		t.Errorf("the builder got %s", told.body)
	}
	waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == second && f.State == rpc.Cancelled })
	if n := h.app.sender.Unknown(); n != 2 {
		t.Errorf("unknown builders: %d", n)
	}
}

// What landed in a block that the chain has left is alive again, and lands in another.
func TestReorganisation(t *testing.T) {
	h := openService(t, nil)
	parent := h.node.Chain().CurrentBlock().Hash()
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	var hash common.Hash
	h.want(&hash, accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(tx)})
	<-h.builder.got
	h.mine()
	waitFor(h, "end", func(f rpc.OrderEnded) bool { return f.Hash == hash && f.State == rpc.Landed })
	h.waitForIndexed()
	h.builder.forget()
	h.slot++
	h.mineOn([32]byte(parent)) // without it
	waitFor(h, "return", func(f rpc.OrderReturned) bool { return f.Hash == hash })
	<-h.builder.got
	block := h.mine()
	waitFor(h, "second end", func(f rpc.OrderEnded) bool { return f.Hash == hash && f.BlockHash == block.Hash() })
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

// A private transaction that pays nothing is of no use to a builder alone; its signer can see why
// it waits.
func TestUnpaidPrivateTransactionWaits(t *testing.T) {
	h := openService(t, nil)
	free := h.signed(accountKey(0), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: new(big.Int), GasFeeCap: big.NewInt(100 * params.GWei), Gas: 21_000,
		To: &common.Address{1}, Value: new(big.Int),
	})
	var hash common.Hash
	h.want(&hash, accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(free)})
	waitFor(h, "simulation", func(f rpc.OrderSimulated) bool { return f.Hash == hash && f.Success })
	var status orderStatus
	h.want(&status, accountKey(7), "gavel_getOrderStatus", hash)
	if status.Why != "its simulation succeeded, but it pays nothing: it waits for somebody who follows it" {
		t.Errorf("%+v", status)
	}
	select {
	case sent := <-h.builder.got:
		t.Errorf("the builder got %s", sent.body)
	default:
	}
}
