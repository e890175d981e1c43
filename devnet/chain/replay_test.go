package chain

import (
	"bytes"
	"io"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A stock node that is given the exported blocks computes the same chain: 100 slots with transfers,
// blobs, withdrawals and execution requests.
func TestStockNodeComputesTheSameChain(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	var transfers, blobs, requests uint64
	for slot := phase0.Slot(1); slot <= 100; slot++ {
		var txs []*types.Transaction
		for range slot % 7 {
			txs = append(txs, transfer(t, testKey(0), transfers, common.Address{byte(slot)}))
			transfers++
		}
		if slot%10 == 0 {
			txs = append(txs, blobTransaction(t, eth.Fulu, testKey(1), blobs, int(slot/10)%FixedBlobs))
			blobs++
		}
		if slot%9 == 0 {
			txs = append(txs, systemCall(t, requests, params.WithdrawalQueueAddress, make([]byte, 56)))
			requests++
		}
		args := argsFor(n, slot, txs...)
		if len(txs) == 0 {
			args.Payment = nil // an empty block earns nothing to pay with
		}
		built := land(t, n, args)
		if built.Left != 0 {
			t.Fatalf("slot %d: %d transactions were left out", slot, built.Left)
		}
		if got, want := len(built.Requests.Withdrawals), 0; slot%9 == 0 && got != 1 || slot%9 != 0 && got != want {
			t.Fatalf("slot %d: %d withdrawal requests", slot, got)
		}
	}
	checkReplay(t, n, 100)
}

// checkReplay exports a chain of the given height, has it replayed, and compares the heads.
func checkReplay(t testing.TB, n *Node, height uint64) {
	t.Helper()
	var exported bytes.Buffer
	if err := Export(&exported, n); err != nil {
		t.Fatal(err)
	}
	genesis, err := GenesisOf(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	head, err := Replay(genesis, &exported)
	if err != nil {
		t.Fatal(err)
	}
	ours := n.Chain().CurrentBlock()
	if head.Hash() != ours.Hash() || head.Root != ours.Root || head.Number.Uint64() != height {
		t.Errorf("a stock node is at block %d, %s with state %s; ours is at %d, %s with state %s",
			head.Number, head.Hash(), head.Root, ours.Number, ours.Hash(), ours.Root)
	}
}

// What was changed on the way is noticed.
func TestReplayRefusesBentBlocks(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	land(t, n, argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1})))
	var exported bytes.Buffer
	if err := Export(&exported, n); err != nil {
		t.Fatal(err)
	}
	genesis, err := GenesisOf(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	bent := bytes.Clone(exported.Bytes())
	bent[100] ^= 1 // in the header's state root
	for name, input := range map[string]io.Reader{
		"a bent state root": bytes.NewReader(bent), "half a block": bytes.NewReader(exported.Bytes()[:50]),
	} {
		if _, err := Replay(genesis, input); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
