// Package chaintest has chains for tests of validators: with money on them, with blocks that are
// good or wrong in one way, and the contract that every validator must keep. For tests of builders
// it has a market of named transactions, whose orders are sent over HTTP (market.go). For tests of
// the table of forks it has a fork that no client knows (trialfork.go).
package chaintest

import (
	"crypto/ecdsa"
	"math/big"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// The chain's id, and the gas limit of its genesis.
const (
	ChainID  = 77
	GasLimit = 60_000_000
)

// The accounts: Payee is the proposer's, and has no money yet.
var (
	Payee      = common.Address{0xfe}
	BuilderKey = testKey("builder")
	UserKey    = testKey("user")
	// ParentRoot is the root of the parent's beacon block.
	ParentRoot = phase0.Root{7}
)

func testKey(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("validator test key " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

// AddressOf returns the account of a key.
func AddressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// ConfigOf returns a chain with some forks, one epoch each, on which user and builder have money.
func ConfigOf(forks ...eth.Fork) chain.Config {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	for i, fork := range forks {
		spec.Forks = append(spec.Forks, eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(i)})
	}
	return chain.Config{
		Spec: spec, ChainID: ChainID, GasLimit: GasLimit, Funded: []common.Address{AddressOf(UserKey), AddressOf(BuilderKey)},
	}
}

// Open opens a chain in one fork, and closes it when the test ends.
func Open(t testing.TB, fork eth.Fork) *chain.Node {
	t.Helper()
	return OpenWith(t, ConfigOf(fork))
}

// OpenWith opens a chain, and closes it when the test ends.
func OpenWith(t testing.TB, cfg chain.Config) *chain.Node {
	t.Helper()
	n, err := chain.Open(cfg)
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

// Sign makes a transaction.
func Sign(t testing.TB, key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(ChainID)), data)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// Transfer makes a transfer of the user.
func Transfer(t testing.TB, nonce uint64) *types.Transaction {
	return Sign(t, UserKey, &types.DynamicFeeTx{
		ChainID: big.NewInt(ChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       transferGas, To: &common.Address{1}, Value: big.NewInt(1),
	})
}

// transferGas suffices in every fork for a transfer to an account that is new.
const transferGas = 210_000

// BlobTransaction makes a transaction of the user with some of chain.Sidecar's blobs.
func BlobTransaction(t testing.TB, fork eth.Fork, nonce uint64, blobs ...int) *types.Transaction {
	sidecar := chain.Sidecar(fork, blobs...)
	return Sign(t, UserKey, &types.BlobTx{
		ChainID: uint256.NewInt(ChainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei),
		Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// GoodArgs ask for a block on genesis with two transfers, from deneb on a blob, and a withdrawal
// that goes to the fee recipient too.
func GoodArgs(t testing.TB, n *chain.Node, fork eth.Fork) chain.BuildArgs {
	txs := []*types.Transaction{Transfer(t, 0), Transfer(t, 1)}
	if fork.HasBlobs() {
		txs = append(txs, BlobTransaction(t, fork, 2, 0))
	}
	return chain.BuildArgs{
		Parent: phase0.Hash32(n.Genesis().Hash()), Slot: 1, PrevRandao: [32]byte{5}, ParentBeaconRoot: ParentRoot,
		Withdrawals: []*capella.Withdrawal{{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress(Payee),
			Amount: 3}},
		Coinbase: AddressOf(BuilderKey), GasLimitTarget: GasLimit, Transactions: txs,
		Payment: &chain.Payment{From: BuilderKey, To: Payee},
	}
}

// Build makes a block and the promise that it keeps.
func Build(t testing.TB, n *chain.Node, args chain.BuildArgs) *exec.Block {
	t.Helper()
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Block{
		Fork: built.Fork, Payload: built.Payload, Blobs: built.Blobs, Requests: built.Requests, Gloas: built.Gloas,
		ParentBeaconRoot:   args.ParentBeaconRoot,
		RegisteredGasLimit: args.GasLimitTarget, FeeRecipient: bellatrix.ExecutionAddress(Payee), ValueWei: built.PaidWei,
	}
}

// Rehash makes the block hash right again after a change, so that another rule has to find the
// change.
func Rehash(t testing.TB, b *exec.Block) {
	t.Helper()
	hashes := []common.Hash{}
	if b.Blobs != nil {
		for _, commitment := range b.Blobs.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
	}
	var root *common.Hash
	if b.Fork.HasBlobs() {
		root = (*common.Hash)(&b.ParentBeaconRoot)
	}
	data, items := payload.ToEngine(b.Fork, b.Payload), [][]byte(nil)
	var err error
	switch {
	case b.Fork.HasAccessLists():
		p, requests := payload.JoinGloas(b.Payload, b.Requests, b.Gloas)
		data = payload.GloasToEngine(p)
		items, err = payload.EncodeGloasRequests(requests)
	case b.Fork.HasRequests():
		items, err = payload.EncodeRequests(b.Requests)
	}
	if err != nil {
		t.Fatal(err)
	}
	block, err := engine.ExecutableDataToBlockNoHash(data, hashes, root, items)
	if err != nil {
		t.Fatal(err)
	}
	b.Payload.BlockHash = phase0.Hash32(block.Hash())
}

// announce gives the block the builder's message that fits it, as the relay's earlier checks have
// made sure of.
func announce(b *exec.Block) {
	p := b.Payload
	b.Trace = &builderv1.BidTrace{
		Slot: 1, ParentHash: p.ParentHash, BlockHash: p.BlockHash, ProposerFeeRecipient: b.FeeRecipient,
		GasLimit: p.GasLimit, GasUsed: p.GasUsed, Value: b.ValueWei,
	}
	if b.Gloas != nil {
		b.Trace.Slot = uint64(b.Gloas.Slot)
	}
}
