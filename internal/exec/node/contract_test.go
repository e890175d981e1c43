package node_test

import (
	"crypto/ecdsa"
	"math/big"
	"net/http/httptest"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
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
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/exec/node"
)

const (
	chainID  = 78
	gasLimit = 60_000_000
)

var (
	payee      = common.Address{0xfe}
	builderKey = testKey("builder")
	userKey    = testKey("user")
)

func testKey(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("node test key " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// opened is a real chain in one fork.
func opened(t *testing.T, fork eth.Fork) *devchain.Node {
	t.Helper()
	n, err := devchain.Open(devchain.Config{
		Spec: &eth.Spec{
			GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
			Forks: []eth.ForkPoint{{Fork: fork}},
		},
		ChainID: chainID, GasLimit: gasLimit, Funded: []common.Address{addressOf(userKey), addressOf(builderKey)},
	})
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

func sign(t *testing.T, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(userKey, types.LatestSignerForChainID(big.NewInt(chainID)), data)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// good is a block with two transfers, from deneb on a blob, and a withdrawal, with the promise that
// it keeps.
func good(t *testing.T, n *devchain.Node, fork eth.Fork) *exec.Block {
	t.Helper()
	var txs []*types.Transaction
	for nonce := range uint64(2) {
		txs = append(txs, sign(t, &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei),
			Gas:       21_000, To: &common.Address{1}, Value: big.NewInt(1),
		}))
	}
	if fork >= eth.Deneb {
		sidecar := devchain.Sidecar(fork, 0)
		txs = append(txs, sign(t, &types.BlobTx{
			ChainID: uint256.NewInt(chainID), Nonce: 2, GasTipCap: uint256.NewInt(params.GWei),
			GasFeeCap: uint256.NewInt(100 * params.GWei),
			Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
		}))
	}
	root := phase0.Root{7}
	built, err := n.Build(t.Context(), devchain.BuildArgs{
		Parent: phase0.Hash32(n.Genesis().Hash()), Slot: 1, PrevRandao: [32]byte{5}, ParentBeaconRoot: root,
		GasLimitTarget: gasLimit,
		Withdrawals: []*capella.Withdrawal{{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress(payee),
			Amount: 3}},
		Coinbase: addressOf(builderKey), Transactions: txs, Payment: &devchain.Payment{From: builderKey, To: payee},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Block{
		Fork: built.Fork, Payload: built.Payload, Blobs: built.Blobs, Requests: built.Requests, ParentBeaconRoot: root,
		RegisteredGasLimit: gasLimit, FeeRecipient: bellatrix.ExecutionAddress(payee), ValueWei: built.PaidWei,
	}
}

// rehash makes the block hash right again after a change, so that another rule has to find the
// change.
func rehash(t *testing.T, b *exec.Block) {
	t.Helper()
	var hashes []common.Hash
	if b.Blobs != nil {
		for _, commitment := range b.Blobs.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
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

// announce gives the block the builder's message that fits it, as the relay's earlier checks have
// made sure of.
func announce(b *exec.Block) {
	p := b.Payload
	b.Trace = &builderv1.BidTrace{
		Slot: 1, ParentHash: p.ParentHash, BlockHash: p.BlockHash, ProposerFeeRecipient: b.FeeRecipient, GasLimit: p.GasLimit,
		GasUsed: p.GasUsed,
		Value:   b.ValueWei,
	}
}

// manners are both ways to judge on one chain: in this process, and by asking a node that does.
func manners(t *testing.T, n *devchain.Node) map[string]exec.Validator {
	t.Helper()
	inside := chain.New(n.Chain(), chain.Options{})
	server := httptest.NewServer(network.ValidationHandler(inside))
	t.Cleanup(server.Close)
	asking, err := node.New(node.Config{URLs: []string{server.URL}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]exec.Validator{"chain": inside, "node": asking}
}

// The contract: whatever the manner, a good block of every fork passes and is said to pay what it
// pays, and each way to spoil one is found under the same rule.
func TestMannersAgree(t *testing.T) {
	rows := []struct {
		name   string
		since  eth.Fork
		rehash bool
		spoil  func(*exec.Block)
		class  exec.Class
		rule   exec.Rule
	}{
		{"good", 0, false, func(*exec.Block) {}, exec.Valid, ""},
		{"S19 state root changed", 0, false, func(b *exec.Block) {
			b.Payload.StateRoot[0] ^= 1
		}, exec.Invalid, exec.RuleBlockHash},
		{"S16 other beacon root", eth.Deneb, false, func(b *exec.Block) {
			b.ParentBeaconRoot[0] ^= 1
		}, exec.Invalid, exec.RuleBlockHash},
		{"S31 a commitment missing", eth.Deneb, false, func(b *exec.Block) {
			b.Blobs.Commitments = nil
		}, exec.Invalid, exec.RuleBlockHash},
		{"no transaction", 0, false, func(b *exec.Block) {
			b.Payload.Transactions[0] = []byte{0xff}
		}, exec.Invalid, exec.RuleBlockHash},
		{"S22 unknown parent", 0, true, func(b *exec.Block) {
			b.Payload.ParentHash[0] ^= 1
		}, exec.Infrastructure, exec.RuleParent},
		{"S23 base fee", 0, true, func(b *exec.Block) {
			b.Payload.BaseFeePerGas = new(uint256.Int).AddUint64(b.Payload.BaseFeePerGas, 1)
		}, exec.Invalid, exec.RuleHeader},
		{"S23 excess blob gas", eth.Deneb, true, func(b *exec.Block) {
			b.Payload.ExcessBlobGas++
		}, exec.Invalid, exec.RuleHeader},
		{"S23 the parent's time", 0, true, func(b *exec.Block) { b.Payload.Timestamp -= 12 }, exec.Invalid, exec.RuleHeader},
		{"S20 gas limit", 0, true, func(b *exec.Block) { b.Payload.GasLimit++ }, exec.Invalid, exec.RuleGasLimit},
		{"S20 other registered", 0, false, func(b *exec.Block) {
			b.RegisteredGasLimit = 30_000_000
		}, exec.Invalid, exec.RuleGasLimit},
		{"S23 blob gas used", eth.Deneb, true, func(b *exec.Block) {
			b.Payload.BlobGasUsed = 0
		}, exec.Invalid, exec.RuleBody},
		{"bad order", 0, true, func(b *exec.Block) {
			t := b.Payload.Transactions
			t[0], t[1] = t[1], t[0]
		}, exec.Invalid, exec.RuleExecution},
		{"S24 state root", 0, true, func(b *exec.Block) { b.Payload.StateRoot[0] ^= 1 }, exec.Invalid, exec.RuleState},
		{"S24 receipts root", 0, true, func(b *exec.Block) { b.Payload.ReceiptsRoot[0] ^= 1 }, exec.Invalid, exec.RuleState},
		{"S24 bloom", 0, true, func(b *exec.Block) { b.Payload.LogsBloom[0] ^= 1 }, exec.Invalid, exec.RuleState},
		{"S24 gas used", 0, true, func(b *exec.Block) { b.Payload.GasUsed++ }, exec.Invalid, exec.RuleState},
		{"S33 a request nobody made", eth.Electra, true, func(b *exec.Block) {
			b.Requests.Consolidations = append(b.Requests.Consolidations, &electra.ConsolidationRequest{})
		}, exec.Invalid, exec.RuleState},
		{"S25 value + 1", 0, false, func(b *exec.Block) {
			b.ValueWei = new(uint256.Int).AddUint64(b.ValueWei, 1)
		}, exec.Invalid, exec.RulePayment},
		{"S29 a proof missing", eth.Deneb, false, func(b *exec.Block) {
			b.Blobs.Proofs = b.Blobs.Proofs[1:]
		}, exec.Invalid, exec.RuleBlobs},
		{"S32 another blob", eth.Deneb, false, func(b *exec.Block) { b.Blobs.Blobs[0][31]++ }, exec.Invalid, exec.RuleBlobs},
	}
	for _, fork := range eth.Forks() {
		n := opened(t, fork)
		for manner, validator := range manners(t, n) {
			for _, row := range rows {
				if fork < row.since {
					continue
				}
				t.Run(fork.String()+"/"+manner+"/"+row.name, func(t *testing.T) {
					b := good(t, n, fork)
					row.spoil(b)
					if row.rehash {
						rehash(t, b)
					}
					announce(b)
					verdict := validator.Validate(t.Context(), b)
					if verdict.Class != row.class || verdict.Rule != row.rule {
						t.Errorf("class %d, rule %s (%s), want class %d, rule %s", verdict.Class, verdict.Rule, verdict.Detail,
							row.class, row.rule)
					}
					if row.class == exec.Valid && (verdict.PaidWei == nil || !verdict.PaidWei.Eq(b.ValueWei)) {
						t.Errorf("paid %v, want %s", verdict.PaidWei, b.ValueWei.Dec())
					}
				})
			}
		}
	}
}
