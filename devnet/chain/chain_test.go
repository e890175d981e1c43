package chain

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

const testChainID = 77

// specOf is a network with two slots an epoch and the given forks, one epoch after the other.
func specOf(forks ...eth.Fork) *eth.Spec {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 2}
	for i, fork := range forks {
		spec.Forks = append(spec.Forks, eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(i)})
	}
	return spec
}

func testKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "chain test key ", i)))
	if err != nil {
		panic(err)
	}
	return key
}

// opened is a chain in memory on which test keys 0 to 9 have money.
func opened(t testing.TB, spec *eth.Spec) *Node {
	t.Helper()
	var funded []common.Address
	for i := range 10 {
		funded = append(funded, addressOf(testKey(i)))
	}
	n, err := Open(Config{Spec: spec, ChainID: testChainID, Funded: funded})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// transfer is a signed transfer of one wei with a tip of one gwei.
func transfer(t testing.TB, from *ecdsa.PrivateKey, nonce uint64, to common.Address) *types.Transaction {
	t.Helper()
	return signed(t, from, &types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       transferGas, To: &to, Value: big.NewInt(1),
	})
}

// transferGas suffices in every fork for a transfer to an account that is new.
const transferGas = 210_000

func signed(t testing.TB, from *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(from, types.LatestSignerForChainID(big.NewInt(testChainID)), data)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func blobTransaction(t testing.TB, fork eth.Fork, from *ecdsa.PrivateKey, nonce uint64,
	blobs ...int) *types.Transaction {
	t.Helper()
	sidecar := Sidecar(fork, blobs...)
	return signed(t, from, &types.BlobTx{
		ChainID: uint256.NewInt(testChainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei),
		Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// argsFor asks for a block of a slot on the head, with one withdrawal and a beacon root that tells
// the slot.
func argsFor(n *Node, slot phase0.Slot, txs ...*types.Transaction) BuildArgs {
	return BuildArgs{
		Parent: headOf(n.backend), Slot: slot, PrevRandao: [32]byte{byte(slot)}, ParentBeaconRoot: phase0.Root{byte(slot)},
		Withdrawals: []*capella.Withdrawal{{Index: capella.WithdrawalIndex(slot), ValidatorIndex: 1, Amount: 7}},
		Coinbase:    addressOf(testKey(9)), GasLimitTarget: defaultGasLimit, Transactions: txs,
		Payment: &Payment{From: testKey(9), To: common.Address{0xfe}},
	}
}

// land builds a block, imports it and makes it the head.
func land(t testing.TB, n *Node, args BuildArgs) *Built {
	t.Helper()
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	importBuilt(t, n, built, args)
	return built
}

func importBuilt(t testing.TB, n *Node, built *Built, args BuildArgs) {
	t.Helper()
	var commitments []deneb.KZGCommitment
	if built.Blobs != nil {
		commitments = built.Blobs.Commitments
	}
	if built.Gloas == nil {
		if err := n.Import(t.Context(), built.Fork, built.Payload, commitments, args.ParentBeaconRoot,
			built.Requests); err != nil {
			t.Fatal(err)
		}
	} else {
		p, requests := payload.JoinGloas(built.Payload, built.Requests, built.Gloas)
		if err := n.ImportGloas(t.Context(), p, commitments, args.ParentBeaconRoot, requests); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.SetHead(t.Context(), built.Hash()); err != nil {
		t.Fatal(err)
	}
}

// A block of each fork is built, called VALID by the Engine API's method of that fork, and becomes
// the head, across all fork boundaries.
func TestEveryForkAndEveryBoundary(t *testing.T) {
	n := opened(t, specOf(append(eth.Forks(), eth.Gloas)...))
	nonce, blobs := uint64(0), uint64(0)
	for slot := phase0.Slot(1); slot < 14; slot++ {
		fork := n.cfg.Spec.ForkAt(slot)
		txs := []*types.Transaction{transfer(t, testKey(0), nonce, common.Address{1}),
			transfer(t, testKey(0), nonce+1, common.Address{2})}
		if fork >= eth.Deneb {
			txs = append(txs, blobTransaction(t, fork, testKey(1), blobs, 0))
			blobs++
		}
		built := land(t, n, argsFor(n, slot, txs...))
		nonce += 2
		if built.Fork != fork || n.Chain().CurrentBlock().Hash() != common.Hash(built.Hash()) {
			t.Errorf("slot %d: %s block, head %s", slot, built.Fork, n.Chain().CurrentBlock().Hash())
		}
		if got, want := len(built.Payload.Transactions), len(txs)+1; got != want || built.Left != 0 { // and the payment
			t.Errorf("slot %d: %d transactions, want %d, %d left out", slot, got, want, built.Left)
		}
	}
	checkReplay(t, n, 13)
}
