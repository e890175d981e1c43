package chain

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A wallet that only knows the RPC address sends a transaction, and sees it included.
func TestRPC(t *testing.T) {
	n, err := Open(Config{
		Spec: specOf(eth.Fulu), ChainID: testChainID, Funded: []common.Address{addressOf(testKey(0))}, RPCAddr: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	wallet, err := rpc.DialContext(t.Context(), n.RPCURL())
	if err != nil {
		t.Fatal(err)
	}
	defer wallet.Close()
	raw, err := transfer(t, testKey(0), 0, common.Address{1}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var hash common.Hash
	if err := wallet.CallContext(t.Context(), &hash, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		t.Fatal(err)
	}
	pending := n.Pending()
	if len(pending) != 1 || pending[0].Hash() != hash {
		t.Fatalf("pending: %v, sent: %s", pending, hash)
	}
	args := argsFor(n, 1, pending...)
	args.Payment = nil
	built := land(t, n, args)
	var receipt struct {
		BlockHash common.Hash `json:"blockHash"`
	}
	for name, client := range map[string]*rpc.Client{"over HTTP": wallet, "in process": n.Attach()} {
		if err := client.CallContext(t.Context(), &receipt, "eth_getTransactionReceipt", hash); err != nil {
			t.Fatal(err)
		}
		if receipt.BlockHash != built.Block.Hash() {
			t.Errorf("%s: included in %s, want %s", name, receipt.BlockHash, built.Block.Hash())
		}
	}
}

// A chain in a folder goes on where it was.
func TestReopenedChainGoesOn(t *testing.T) {
	cfg := Config{Spec: specOf(eth.Fulu), ChainID: testChainID, DataDir: t.TempDir(),
		Funded: []common.Address{addressOf(testKey(0))}}
	var head common.Hash
	for slot := range uint64(3) {
		n, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Chain().CurrentBlock(); slot > 0 && (got.Hash() != head || got.Number.Uint64() != slot) {
			t.Fatalf("reopened at block %d, %s, left at %s", got.Number, got.Hash(), head)
		}
		args := argsFor(n, 1+2*phase0.Slot(slot), transfer(t, testKey(0), slot, common.Address{1}))
		args.Payment = nil
		head = land(t, n, args).Block.Hash()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Of a chain that is longer than 128 blocks the first states are there only if they were to be
// kept.
func TestStatesAreKeptIfAsked(t *testing.T) {
	for _, keep := range []bool{false, true} {
		n, err := Open(Config{Spec: specOf(eth.Fulu), ChainID: testChainID, Funded: []common.Address{addressOf(testKey(0))},
			KeepStates: keep})
		if err != nil {
			t.Fatal(err)
		}
		for slot := range uint64(140) {
			args := argsFor(n, 1+phase0.Slot(slot), transfer(t, testKey(0), slot, common.Address{1}))
			args.Payment = nil
			land(t, n, args)
		}
		first := n.Chain().GetBlockByNumber(1)
		if _, err := n.Chain().StateAt(first.Root(), first.Number(), first.Time()); (err == nil) != keep {
			t.Errorf("keep %t: the state of block 1: %v", keep, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, address := range []string{"localhost", "localhost:http", "256.0.0.1:1"} {
		n, err := Open(Config{Spec: specOf(eth.Fulu), ChainID: testChainID, RPCAddr: address})
		if err == nil {
			t.Errorf("opened at %s", address)
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Open(Config{Spec: &eth.Spec{}, ChainID: testChainID}); err == nil {
		t.Error("opened without a spec")
	}
}
