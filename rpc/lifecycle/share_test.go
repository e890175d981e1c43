package lifecycle

import (
	"math/big"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// sharing is an order whose hash strangers may know.
func sharing(order *rpc.Order) *rpc.Order {
	order.Bundle.Hints = orderflow.Hash
	return order
}

// The stream is told of an order once, when it first succeeds, with what was seen then; not of one
// that shares nothing.
func TestShared(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		order := sharing(orderOf(alice, 5, 101, 110))
		s.results[order.Hash()] = failure("tx failed", false)
		s.submit(order)
		s.want("accepted 1", "simulated 1 for 101: tx failed", "forget 1 at")
		s.set(func() { delete(s.results, order.Hash()) })
		s.mine(101)
		s.want("index 101", "simulated 1 for 102", "shared 1", "send 1 for 102", "sent 1 to b")
		s.mine(102)
		s.want("index 102", "simulated 1 for 103", "send 1 for 103", "sent 1 to b")
		s.submit(orderOf(alice, 6, 103, 110))
		s.want("accepted 2", "simulated 2 for 103", "send 2 for 103", "sent 2 to b")
		var got rpc.OrderShared
		for _, fact := range s.past {
			if f, ok := fact.(rpc.OrderShared); ok {
				got = f
			}
		}
		tx := order.Bundle.Elements[0].Tx
		want := rpc.OrderShared{ID: 1, Shared: orderflow.Shared{
			At: got.At, Hash: order.Hash(), Block: 101, MevGasPriceWei: uint256.NewInt(2),
			Bundle: orderflow.Bundle{Hints: orderflow.Hash, Elements: []orderflow.Element{{Tx: &orderflow.Tx{
				Raw: tx.Raw, Hash: tx.Hash, From: alice, Logs: []orderflow.Log{{Address: common.Address{0x10}, Data: []byte{5}}},
			}}}},
		}}
		if !reflect.DeepEqual(got, want) || got.At.IsZero() {
			t.Errorf("\ngot  %+v\nwant %+v", got, want)
		}
	})
}

// Nobody is told of what was cancelled while it was simulated.
func TestNotSharedAfterTheCancel(t *testing.T) {
	script(t, func(s *lifecycleTest) {
		s.hold = make(chan struct{})
		s.submit(sharing(version(alice, 1, 101, 110, 7)))
		s.want("accepted 1")
		s.cancel(alice)
		s.want("forget 1 at", "ended 1 cancelled")
		close(s.hold)
		s.want()
	})
}

// An inner bundle has its own hints, and the transactions are told of in the order of the body.
func TestSharedBundles(t *testing.T) {
	tx := func(name byte) *rpc.Transaction { return &rpc.Transaction{Hash: common.Hash{name}, Raw: []byte{name}} }
	order := &rpc.Order{Bundle: rpc.Bundle{Hints: orderflow.Hash, Elements: []rpc.Element{
		{Tx: tx(0x11)}, {Bundle: &rpc.Bundle{Hints: orderflow.Logs, Elements: []rpc.Element{{Tx: tx(0x22)}}}}, {Tx: tx(0x33)},
	}}}
	seen := func(names ...byte) *exec.BundleResult {
		result := &exec.BundleResult{GasUsed: 7, MevGasPriceWei: uint256.NewInt(8)}
		for _, name := range names {
			result.Txs = append(result.Txs, exec.TxResult{Hash: common.Hash{name}, From: common.Address{name}})
		}
		return result
	}
	got, err := buildShared(order, seen(0x11, 0x22, 0x33))
	if err != nil {
		t.Fatal(err)
	}
	told := func(name byte) *orderflow.Tx {
		return &orderflow.Tx{Raw: []byte{name}, Hash: common.Hash{name}, From: common.Address{name}}
	}
	want := orderflow.Bundle{Hints: orderflow.Hash, Elements: []orderflow.Element{
		{Tx: told(0x11)}, {Bundle: &orderflow.Bundle{Hints: orderflow.Logs, Elements: []orderflow.Element{{Tx: told(0x22)}}}},
		{Tx: told(0x33)},
	}}
	if !reflect.DeepEqual(got.Bundle, want) || got.GasUsed != 7 || got.MevGasPriceWei.Uint64() != 8 {
		t.Errorf("%+v", got)
	}
	for _, names := range [][]byte{{0x11, 0x33, 0x22}, {0x11, 0x22}} {
		if _, err := buildShared(order, seen(names...)); err == nil {
			t.Errorf("told what was seen of %v", names)
		}
	}
}

// Blobs stay here: the stream gets the transaction as it is in a block.
func TestSharedWithoutBlobs(t *testing.T) {
	sidecar := types.NewBlobTxSidecar(types.BlobSidecarVersion0, make([]kzg4844.Blob, 1), make([]kzg4844.Commitment, 1),
		make([]kzg4844.Proof, 1))
	tx := types.NewTx(&types.BlobTx{ChainID: uint256.NewInt(1), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar})
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	small, err := withoutBlobs(raw)
	if err != nil || len(small) > 1000 {
		t.Fatalf("%d bytes of %d, %v", len(small), len(raw), err)
	}
	got := new(types.Transaction)
	if err := got.UnmarshalBinary(small); err != nil || got.Hash() != tx.Hash() || got.BlobTxSidecar() != nil {
		t.Errorf("%v: %s, want %s", err, got.Hash(), tx.Hash())
	}
	if _, err := withoutBlobs([]byte{types.BlobTxType, 1}); err == nil {
		t.Error("took what is no transaction")
	}
	plain, err := types.NewTx(&types.LegacyTx{Value: big.NewInt(1)}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := withoutBlobs(plain); err != nil || !reflect.DeepEqual([]byte(same), plain) {
		t.Errorf("%x, %v", same, err)
	}
}
