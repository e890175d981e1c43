package chain

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	devchain "github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

const (
	chainID  = 77
	gasLimit = 60_000_000
)

var (
	payee      = common.Address{0xfe}
	builderKey = testKey("builder")
	userKey    = testKey("user")
	parentRoot = phase0.Root{7}
)

func testKey(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("validator test key " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// configOf is a chain with some forks, one epoch each, on which user and builder have money.
func configOf(forks ...eth.Fork) devchain.Config {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	for i, fork := range forks {
		spec.Forks = append(spec.Forks, eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(i)})
	}
	return devchain.Config{
		Spec: spec, ChainID: chainID, GasLimit: gasLimit, Funded: []common.Address{addressOf(userKey), addressOf(builderKey)},
	}
}

// opened is a chain in one fork.
func opened(t testing.TB, fork eth.Fork) *devchain.Node {
	t.Helper()
	return openedWith(t, configOf(fork))
}

func openedWith(t testing.TB, cfg devchain.Config) *devchain.Node {
	t.Helper()
	n, err := devchain.Open(cfg)
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

func sign(t testing.TB, key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), data)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func transfer(t testing.TB, nonce uint64) *types.Transaction {
	return sign(t, userKey, &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       21_000, To: &common.Address{1}, Value: big.NewInt(1),
	})
}

func blobTransaction(t testing.TB, fork eth.Fork, nonce uint64) *types.Transaction {
	sidecar := devchain.Sidecar(fork, 0)
	return sign(t, userKey, &types.BlobTx{
		ChainID: uint256.NewInt(chainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei),
		Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// goodArgs ask for a block with two transfers, from deneb on a blob, and a withdrawal that goes to
// the fee recipient too.
func goodArgs(t testing.TB, n *devchain.Node, fork eth.Fork) devchain.BuildArgs {
	txs := []*types.Transaction{transfer(t, 0), transfer(t, 1)}
	if fork >= eth.Deneb {
		txs = append(txs, blobTransaction(t, fork, 2))
	}
	return devchain.BuildArgs{
		Parent: phase0.Hash32(n.Genesis().Hash()), Slot: 1, PrevRandao: [32]byte{5}, ParentBeaconRoot: parentRoot,
		Withdrawals: []*capella.Withdrawal{{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress(payee),
			Amount: 3}},
		Coinbase: addressOf(builderKey), GasLimitTarget: gasLimit, Transactions: txs,
		Payment: &devchain.Payment{From: builderKey, To: payee},
	}
}

// build makes a block and the promise that it keeps.
func build(t testing.TB, n *devchain.Node, args devchain.BuildArgs) *exec.Block {
	t.Helper()
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Block{
		Fork: built.Fork, Payload: built.Payload, Blobs: built.Blobs, Requests: built.Requests,
		ParentBeaconRoot:   args.ParentBeaconRoot,
		RegisteredGasLimit: args.GasLimitTarget, FeeRecipient: bellatrix.ExecutionAddress(payee), ValueWei: built.PaidWei,
	}
}

// rehash makes the block hash right again after a change, so that another rule has to find the
// change.
func rehash(t testing.TB, b *exec.Block) {
	t.Helper()
	hashes := []common.Hash{}
	for _, commitment := range commitmentsOf(b) {
		hashes = append(hashes, payload.VersionedHash(commitment))
	}
	var root *common.Hash
	if b.Fork >= eth.Deneb {
		root = (*common.Hash)(&b.ParentBeaconRoot)
	}
	var items [][]byte
	if b.Fork >= eth.Electra {
		var err error
		if items, err = payload.EncodeRequests(b.Requests); err != nil {
			t.Fatal(err)
		}
	}
	block, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(b.Fork, b.Payload), hashes, root, items)
	if err != nil {
		t.Fatal(err)
	}
	b.Payload.BlockHash = phase0.Hash32(block.Hash())
}

func TestGoodBlocksOfEveryForkPass(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			n := opened(t, fork)
			v := New(n.Chain(), Options{})
			b := build(t, n, goodArgs(t, n, fork))
			for range 2 { // the second time with cached proofs
				verdict := v.Validate(t.Context(), b)
				if verdict.Class != exec.Valid || !verdict.PaidWei.Eq(b.ValueWei) {
					t.Fatalf("%+v", verdict)
				}
			}
			if n.Chain().HasBlock(common.Hash(b.Payload.BlockHash), 1) {
				t.Error("validation inserted the block")
			}
		})
	}
}

// Each row spoils a good fulu block in one way and names the rule that must find it.
func TestSpoiledBlocks(t *testing.T) {
	n := opened(t, eth.Fulu)
	v := New(n.Chain(), Options{})
	spoil := func(change func(*exec.Block)) func(*testing.T) *exec.Block {
		return func(t *testing.T) *exec.Block {
			b := build(t, n, goodArgs(t, n, eth.Fulu))
			change(b)
			return b
		}
	}
	spoilAndRehash := func(change func(*exec.Block)) func(*testing.T) *exec.Block {
		return func(t *testing.T) *exec.Block {
			b := spoil(change)(t)
			rehash(t, b)
			return b
		}
	}
	other := func(change func(*devchain.BuildArgs)) func(*testing.T) *exec.Block {
		return func(t *testing.T) *exec.Block {
			args := goodArgs(t, n, eth.Fulu)
			change(&args)
			return build(t, n, args)
		}
	}
	for name, row := range map[string]struct {
		block func(*testing.T) *exec.Block
		class exec.Class
		rule  exec.Rule
	}{
		"S19 state root changed": {spoil(func(b *exec.Block) {
			b.Payload.StateRoot[0] ^= 1
		}), exec.Invalid, exec.RuleBlockHash},
		"S16 other beacon root": {spoil(func(b *exec.Block) {
			b.ParentBeaconRoot[0] ^= 1
		}), exec.Invalid, exec.RuleBlockHash},
		"S31 a commitment missing": {spoil(func(b *exec.Block) {
			b.Blobs.Commitments = nil
		}), exec.Invalid, exec.RuleBlockHash},
		"a transaction that is none": {spoil(func(b *exec.Block) {
			b.Payload.Transactions[0] = []byte{0xff}
		}), exec.Invalid, exec.RuleBlockHash},
		"S22 unknown parent": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.ParentHash[0] ^= 1
		}), exec.Infrastructure, exec.RuleParent},
		"a block with number 0": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.BlockNumber = 0
		}), exec.Infrastructure, exec.RuleParent},
		"S23 base fee + 1": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.BaseFeePerGas.AddUint64(b.Payload.BaseFeePerGas, 1)
		}), exec.Invalid, exec.RuleHeader},
		"S23 excess blob gas": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.ExcessBlobGas++
		}), exec.Invalid, exec.RuleHeader},
		"S23 the parent's time": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.Timestamp -= 12
		}), exec.Invalid, exec.RuleHeader},
		"S20 gas limit + 1": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.GasLimit++
		}), exec.Invalid, exec.RuleGasLimit},
		"S20 other registered": {spoil(func(b *exec.Block) {
			b.RegisteredGasLimit = 30_000_000
		}), exec.Invalid, exec.RuleGasLimit},
		"S21 registered 0 is 30 M": {other(func(a *devchain.BuildArgs) { a.GasLimitTarget = 0 }), exec.Valid, ""},
		"S23 blob gas used": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.BlobGasUsed -= params.BlobTxBlobGasPerBlob
		}), exec.Invalid, exec.RuleBody},
		"transactions in bad order": {spoilAndRehash(func(b *exec.Block) {
			t := b.Payload.Transactions
			t[0], t[1] = t[1], t[0]
		}), exec.Invalid, exec.RuleExecution},
		"S24 state root": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.StateRoot[0] ^= 1
		}), exec.Invalid, exec.RuleState},
		"S24 receipts root": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.ReceiptsRoot[0] ^= 1
		}), exec.Invalid, exec.RuleState},
		"S24 bloom": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.LogsBloom[0] ^= 1
		}), exec.Invalid, exec.RuleState},
		"S24 gas used": {spoilAndRehash(func(b *exec.Block) {
			b.Payload.GasUsed++
		}), exec.Invalid, exec.RuleState},
		"S25 value + 1": {spoil(func(b *exec.Block) {
			b.ValueWei.AddUint64(b.ValueWei, 1)
		}), exec.Invalid, exec.RulePayment},
		"S25 paid by a withdrawal only": {func(t *testing.T) *exec.Block {
			b := other(func(a *devchain.BuildArgs) { a.Payment = nil })(t)
			b.ValueWei = uint256.NewInt(1)
			return b
		}, exec.Invalid, exec.RulePayment},
		"S34 more than 8 MiB": {spoilAndRehash(func(b *exec.Block) {
			raw, err := sign(t, userKey, &types.LegacyTx{Nonce: 3, To: &payee,
				Data: make([]byte, params.MaxBlockSize)}).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			b.Payload.Transactions = append(b.Payload.Transactions, raw)
		}), exec.Invalid, exec.RuleBody},
		"S33 a request that nobody made": {spoilAndRehash(func(b *exec.Block) {
			b.Requests.Consolidations = append(b.Requests.Consolidations, &electra.ConsolidationRequest{})
		}), exec.Invalid, exec.RuleState},
		"S33 requests changed": {spoil(func(b *exec.Block) {
			b.Requests.Consolidations = append(b.Requests.Consolidations, &electra.ConsolidationRequest{})
		}), exec.Invalid, exec.RuleBlockHash},
		"called electra, by the same hash": {spoil(func(b *exec.Block) {
			b.Fork = eth.Electra
		}), exec.Invalid, exec.RuleHeader},
		"S29 a proof missing": {spoil(func(b *exec.Block) {
			b.Blobs.Proofs = b.Blobs.Proofs[:127]
		}), exec.Invalid, exec.RuleBlobs},
		"S32 proofs of other cells": {spoil(func(b *exec.Block) {
			p := b.Blobs.Proofs
			p[0] = [48]byte{0xc0} // infinity: right for a constant polynomial only
		}), exec.Invalid, exec.RuleBlobs},
		"S32 another blob": {spoil(func(b *exec.Block) { b.Blobs.Blobs[0][31]++ }), exec.Invalid, exec.RuleBlobs},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := v.Validate(t.Context(), row.block(t))
			if verdict.Class != row.class || verdict.Rule != row.rule {
				t.Errorf("class %d, rule %s (%s), want class %d, rule %s", verdict.Class, verdict.Rule, verdict.Detail,
					row.class, row.rule)
			}
		})
	}
}

// S27: who takes the block's priority fees as coinbase is paid by them.
func TestFeeRecipientAsCoinbase(t *testing.T) {
	n := opened(t, eth.Fulu)
	args := goodArgs(t, n, eth.Fulu)
	args.Coinbase, args.Payment = payee, nil
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	b := build(t, n, args)
	b.ValueWei = built.CoinbaseGainWei
	if verdict := New(n.Chain(), Options{}).Validate(t.Context(), b); verdict.Class != exec.Valid ||
		!verdict.PaidWei.Eq(built.CoinbaseGainWei) {
		t.Errorf("%+v", verdict)
	}
}

// S26: a fee recipient that spends more than it is paid is satisfied by an exact last payment, and
// by nothing else.
func TestLastPayment(t *testing.T) {
	for name, row := range map[string]struct {
		tip, value int64
		data       []byte
		behind     bool // another transaction follows
		valid      bool
	}{
		"exact":             {value: 1000, valid: true},
		"tip of 1 wei":      {value: 1000, tip: 1},
		"a byte of data":    {value: 1000, data: []byte{0}},
		"1 wei too much":    {value: 1001},
		"second to last":    {value: 1000, behind: true},
		"half of the value": {value: 500},
	} {
		t.Run(name, func(t *testing.T) {
			n := opened(t, eth.Fulu)
			spender := addressOf(userKey) // the fee recipient spends in the same block
			args := goodArgs(t, n, eth.Fulu)
			baseFee := new(big.Int).SetInt64(875_000_000) // on an empty genesis
			pay := sign(t, builderKey, &types.DynamicFeeTx{
				ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(row.tip), GasFeeCap: new(big.Int).Add(baseFee,
					big.NewInt(row.tip)),
				Gas: 30_000, To: &spender, Value: big.NewInt(row.value), Data: row.data,
			})
			args.Payment, args.Transactions = nil, []*types.Transaction{transfer(t, 0), pay}
			if row.behind {
				args.Transactions = append(args.Transactions, transfer(t, 1))
			}
			b := build(t, n, args)
			if len(b.Payload.Transactions) != len(args.Transactions) {
				t.Fatalf("the block has %d transactions, want %d (base fee %s)", len(b.Payload.Transactions),
					len(args.Transactions), b.Payload.BaseFeePerGas.Dec())
			}
			b.FeeRecipient, b.ValueWei = bellatrix.ExecutionAddress(spender), uint256.NewInt(1000)
			verdict := New(n.Chain(), Options{}).Validate(t.Context(), b)
			if (verdict.Class == exec.Valid) != row.valid {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

func TestInterruptedValidationSpeaksForNobody(t *testing.T) {
	n := opened(t, eth.Fulu)
	v := New(n.Chain(), Options{Concurrency: 1})
	b := build(t, n, goodArgs(t, n, eth.Fulu))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v.slots <- struct{}{} // the only place is taken
	if verdict := v.Validate(ctx, b); verdict.Class != exec.Infrastructure || verdict.Rule != exec.RuleInterrupted {
		t.Errorf("waiting: %+v", verdict)
	}
	<-v.slots
	if _, wrong := v.validate(ctx, b); wrong == nil || wrong.Class != exec.Infrastructure ||
		wrong.Rule != exec.RuleInterrupted {
		t.Errorf("executing: %+v", wrong)
	}
}

// Builders, validators and an importer share one chain.
func TestConcurrentUse(t *testing.T) {
	n := opened(t, eth.Fulu)
	v := New(n.Chain(), Options{})
	args := goodArgs(t, n, eth.Fulu)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			own := args
			own.ExtraData = fmt.Append(nil, "builder ", i)
			b := build(t, n, own)
			if verdict := v.Validate(t.Context(), b); verdict.Class != exec.Valid {
				t.Errorf("%+v", verdict)
			}
			if err := n.Import(t.Context(), b.Fork, b.Payload, b.Blobs.Commitments, b.ParentBeaconRoot, b.Requests); err != nil {
				t.Error(err)
			}
			if verdict := v.Validate(t.Context(), b); verdict.Class != exec.Valid { // imported meanwhile
				t.Errorf("%+v", verdict)
			}
		})
	}
	group.Wait()
}

func TestDetailsNameWhatWasSeen(t *testing.T) {
	n := opened(t, eth.Fulu)
	b := build(t, n, goodArgs(t, n, eth.Fulu))
	b.ValueWei = new(uint256.Int).AddUint64(b.ValueWei, 1)
	verdict := New(n.Chain(), Options{}).Validate(t.Context(), b)
	if !strings.Contains(verdict.Detail, b.ValueWei.Dec()) {
		t.Errorf("%q does not name the promised value %s", verdict.Detail, b.ValueWei.Dec())
	}
}
