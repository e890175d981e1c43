package chain

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// What cannot be applied is left out and leaves no trace; the payment is the last transaction and
// is what the coinbase gained, less its gas.
func TestBuildLeavesOutWhatDoesNotFit(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	good := transfer(t, testKey(0), 0, common.Address{1})
	gap := transfer(t, testKey(0), 5, common.Address{1})
	poor := transfer(t, testKey(99), 0, common.Address{1})
	noBlobs := blobTransaction(t, eth.Fulu, testKey(1), 0, 0).WithoutBlobTxSidecar()
	built, err := n.Build(t.Context(), argsFor(n, 1, gap, good, poor, noBlobs))
	if err != nil {
		t.Fatal(err)
	}
	if built.Left != 3 || len(built.Payload.Transactions) != 2 {
		t.Errorf("%d left out, %d in the block", built.Left, len(built.Payload.Transactions))
	}
	last := built.Block.Transactions()[1]
	cost := new(uint256.Int).Mul(uint256.NewInt(21_000), uint256.MustFromBig(built.Block.BaseFee()))
	if want := new(uint256.Int).Sub(built.CoinbaseGainWei, cost); !built.PaidWei.Eq(want) ||
		last.Value().Cmp(want.ToBig()) != 0 {
		t.Errorf("paid %s, the last transaction carries %s, want %s", built.PaidWei, last.Value(), want)
	}
}

func TestBlobLimitHolds(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	var txs []*types.Transaction
	for nonce := range uint64(4) { // three blobs each, nine are allowed
		txs = append(txs, blobTransaction(t, eth.Fulu, testKey(1), nonce, 0, 1, 2))
	}
	built, err := n.Build(t.Context(), argsFor(n, 1, txs...))
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Blobs.Blobs) != 9 || len(built.Blobs.Proofs) != 9*128 || built.Left != 1 {
		t.Errorf("%d blobs, %d proofs, %d left out", len(built.Blobs.Blobs), len(built.Blobs.Proofs), built.Left)
	}
}

// From osaka on a block has a size limit in bytes (EIP-7934): what goes beyond it is left out.
func TestByteLimitHolds(t *testing.T) {
	n, err := Open(Config{Spec: specOf(eth.Fulu), ChainID: testChainID, GasLimit: 200_000_000,
		Funded: []common.Address{addressOf(testKey(0))}})
	if err != nil {
		t.Fatal(err)
	}
	var txs []*types.Transaction
	for nonce := range uint64(6) {
		txs = append(txs, signed(t, testKey(0), &types.DynamicFeeTx{
			ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(100 * params.GWei),
			Gas: 16_100_000, To: &common.Address{1}, Data: make([]byte, 1_600_000),
		}))
	}
	args := argsFor(n, 1, txs...)
	args.GasLimitTarget, args.Payment = 200_000_000, nil
	if built := land(t, n, args); built.Left != 1 || len(built.Payload.Transactions) != 5 {
		t.Errorf("%d left out, %d in the block", built.Left, len(built.Payload.Transactions))
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestBuildRefuses(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	args := argsFor(n, 1)
	if _, err := n.Build(t.Context(), args); !errors.Is(err, ErrUnprofitable) {
		t.Errorf("an empty block that is to pay what it earns: %v", err)
	}
	args.Parent = phase0.Hash32{9}
	if _, err := n.Build(t.Context(), args); err == nil {
		t.Error("an unknown parent passes")
	}
	args = argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1}))
	args.ExtraData = make([]byte, 33)
	if _, err := n.Build(t.Context(), args); err == nil {
		t.Error("33 bytes of extra data pass")
	}
	args = argsFor(n, 0)
	if _, err := n.Build(t.Context(), args); err == nil {
		t.Error("genesis is built anew")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Build(ctx, argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1}))); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a cancelled build answers %v", err)
	}
}

// A sibling can be imported beside the head, and the head can go there and back.
func TestReorganisationOfOneBlock(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	argsA := argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1}))
	argsB := argsFor(n, 2, transfer(t, testKey(0), 0, common.Address{2}))
	a := land(t, n, argsA)
	b, err := n.Build(t.Context(), argsB)
	if err != nil {
		t.Fatal(err)
	}
	importBuilt(t, n, b, argsB)
	for _, want := range []*Built{a, b} {
		if err := n.SetHead(t.Context(), want.Hash()); err != nil {
			t.Fatal(err)
		}
		if n.Chain().CurrentBlock().Hash() != want.Block.Hash() {
			t.Error("the head did not move")
		}
	}
}

func TestImportSaysInvalid(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	args := argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1}))
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	bent := *built.Payload
	bent.StateRoot[0] ^= 1
	if err := n.Import(t.Context(), built.Fork, &bent, nil, args.ParentBeaconRoot, built.Requests); !errors.Is(err,
		ErrInvalid) {
		t.Errorf("a bent payload: %v", err)
	}
	if err := n.SetHead(t.Context(), phase0.Hash32{7}); err == nil {
		t.Error("an unknown block becomes the head")
	}
}
