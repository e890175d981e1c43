package chain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// crowd makes random transactions that have something in common with those of a busy block: they
// make accounts, write storage, make contracts, fail, or cannot be in a block at all.
type crowd struct {
	t      testing.TB
	random *rand.Rand
	nonces [10]uint64
}

// counter is the code of a contract that counts its calls in a storage slot that the caller names,
// and fails if the caller names slot 0.
var counter = common.FromHex("600035" + "80600757" + "5ffd" + "5b" + "80546001019055" + "00")

// deploy is the code that makes a contract with counter as its code.
func deploy() []byte {
	init := common.FromHex("60" + "00" + "80" + "600b" + "5f39" + "5ff3")
	init[1] = byte(len(counter))
	return append(append(init, make([]byte, 0x0b-len(init))...), counter...)
}

func (c *crowd) next() *types.Transaction {
	sender := c.random.IntN(8) // the last two keys are the builder's and that of blobs
	key := testKey(sender)
	inner := &types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), Nonce: c.nonces[sender], GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei), Gas: transferGas, Value: big.NewInt(c.random.Int64N(1000)),
	}
	var to common.Address
	switch kind := c.random.IntN(12); kind {
	case 0, 1, 2: // to an account that is new
		binary.BigEndian.PutUint64(to[:], c.random.Uint64())
	case 3, 4, 5: // between accounts that are there
		to = addressOf(testKey(c.random.IntN(8)))
	case 6, 7: // a contract that writes, or fails
		to = crypto.CreateAddress(addressOf(testKey(0)), 0)
		inner.Value, inner.Gas = new(big.Int), 300_000
		inner.Data = common.BigToHash(big.NewInt(c.random.Int64N(20))).Bytes()
	case 8: // a new contract
		inner.Value, inner.Gas, inner.Data = new(big.Int), 1_500_000, deploy()
	case 9: // too little gas for a new account: it is in the block, and fails
		binary.BigEndian.PutUint64(to[:], c.random.Uint64())
		inner.Gas, inner.Value = 21_000, common.Big1
	case 10: // requests to the beacon chain
		to = params.WithdrawalQueueAddress
		inner.Gas, inner.Value, inner.Data = 2_000_000, big.NewInt(1_000_000), bytes.Repeat([]byte{0xbb}, 56)
	case 11: // a gap in the nonces: it must be left out
		to = addressOf(testKey(0))
		inner.Nonce += 1000
	}
	if inner.Data == nil || len(inner.Data) != len(deploy()) {
		inner.To = &to
	}
	if inner.Nonce < 1000+c.nonces[sender] {
		c.nonces[sender]++
	}
	return signed(c.t, key, inner)
}

// Blocks of gloas, made of 150 and more random transactions each, are VALID by the Engine API:
// their access lists are what the node's own execution leads to. Each pays a fee recipient that has
// no account yet. Every second block goes on from a fork of its draft, while the other branch goes
// elsewhere. A stock node that replays the chain comes to the same state.
func TestRandomBlocksOfGloas(t *testing.T) { importRandomBlocks(t, 6) }

// BenchmarkRandomBlocksOfGloas does the same with 1,000 blocks, which takes about two minutes.
func BenchmarkRandomBlocksOfGloas(b *testing.B) {
	const blocks = 1000
	for b.Loop() {
		importRandomBlocks(b, blocks)
	}
	b.ReportMetric(blocks, "valid") // any other one would have ended the benchmark
}

func importRandomBlocks(t testing.TB, blocks int) {
	n := opened(t, specOf(eth.Gloas))
	c := &crowd{t: t, random: rand.New(rand.NewPCG(17, 1))}
	land(t, n, argsFor(n, 1, signed(t, testKey(0), &types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: 1_500_000, Data: deploy(),
	})))
	c.nonces[0] = 1
	for i := range blocks {
		slot := phase0.Slot(2 + 2*i + c.random.IntN(2))
		args := argsFor(n, slot)
		binary.BigEndian.PutUint64(args.Payment.To[:], c.random.Uint64())
		draft, err := n.Draft(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			other := draft
			draft = draft.Fork()
			if _, err := other.Apply(t.Context(), transfer(t, testKey(8), 0, common.Address{0xab})); err != nil {
				t.Fatal(err)
			}
		}
		for len(draft.txs) < 150 {
			tx := c.next()
			if _, err := draft.Apply(t.Context(), tx); err != nil && tx.Nonce() < 1000 {
				t.Fatal(err)
			}
		}
		built, err := draft.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		importBuilt(t, n, built, args)
		if hash := crypto.Keccak256Hash(built.Gloas.AccessList); hash != *built.Block.Header().BlockAccessListHash ||
			built.Gloas.Slot != slot {
			t.Errorf("block %d: access list of %d bytes with hash %s, slot %d", i, len(built.Gloas.AccessList), hash,
				built.Gloas.Slot)
		}
		if paid := n.balance(t, args.Payment.To); !paid.Eq(built.PaidWei) || paid.IsZero() {
			t.Errorf("block %d: the fee recipient has %s wei, want %s", i, paid.Dec(), built.PaidWei.Dec())
		}
	}
	checkReplay(t, n, uint64(blocks)+1)
}

// balance is what an account has at the head.
func (n *Node) balance(t testing.TB, account common.Address) *uint256.Int {
	t.Helper()
	head := n.Chain().CurrentBlock()
	db, err := n.Chain().StateAt(head.Root, head.Number, head.Time)
	if err != nil {
		t.Fatal(err)
	}
	return db.GetBalance(account)
}

// A payload of gloas whose access list is not what its execution leads to is INVALID, also if the
// block's hash is that of the wrong list. So is one without a list, and one of another slot.
func TestWrongAccessListIsInvalid(t *testing.T) {
	n := opened(t, specOf(eth.Gloas))
	args := argsFor(n, 1, transfer(t, testKey(0), 0, common.Address{1}))
	built, err := n.Build(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	other, err := n.Build(t.Context(), argsFor(n, 1, transfer(t, testKey(1), 0, common.Address{2})))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		spoil  func(*payload.Gloas)
		rehash bool
		reason string
	}{
		"another block's list": {func(g *payload.Gloas) { g.AccessList = other.Gloas.AccessList }, true,
			"access list"},
		"an empty list":                    {func(g *payload.Gloas) { g.AccessList = []byte{0xc0} }, true, "access list"},
		"another list below the same hash": {func(g *payload.Gloas) { g.AccessList = []byte{0xc0} }, false, "blockhash"},
		"bytes that are no list":           {func(g *payload.Gloas) { g.AccessList = []byte{1} }, false, ""},
		"another slot":                     {func(g *payload.Gloas) { g.Slot++ }, false, "blockhash"},
	} {
		t.Run(name, func(t *testing.T) {
			added, common := *built.Gloas, *built.Payload
			row.spoil(&added)
			p, requests := payload.JoinGloas(&common, built.Requests, &added)
			if row.rehash {
				p.BlockHash = rehashed(t, p, args.ParentBeaconRoot)
			}
			err := n.ImportGloas(t.Context(), p, nil, args.ParentBeaconRoot, requests)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), row.reason) {
				t.Errorf("%v", err)
			}
		})
	}
	importBuilt(t, n, built, args)
}

// Amsterdam counts what a block makes larger in the state apart from what it executes (EIP-8037):
// 300 transfers to new accounts would be 61 million gas, which is too much for a block of 60
// million, of which the last transfers are left out.
func TestStateGasFillsABlock(t *testing.T) {
	n := opened(t, specOf(eth.Gloas))
	var txs []*types.Transaction
	for nonce := range uint64(330) {
		txs = append(txs, transfer(t, testKey(0), nonce, common.Address{0xcd, byte(nonce >> 8), byte(nonce)}))
	}
	built := land(t, n, argsFor(n, 1, txs...))
	creation := params.AccountCreationSize * uint64(params.CostPerStateByte)
	if got := built.Block.GasUsed(); got%creation != 0 || got > defaultGasLimit || built.Left == 0 ||
		got/creation != uint64(len(built.Payload.Transactions)) {
		t.Errorf("%d gas used by %d transactions, %d left out; an account costs %d", got, len(built.Payload.Transactions),
			built.Left, creation)
	}
}

// Requests of builders come out of a block as they went in (EIP-8282).
func TestBuilderRequests(t *testing.T) {
	n := opened(t, specOf(eth.Gloas))
	amount := binary.BigEndian.AppendUint64(nil, 1_500_000_000)
	deposit := slices.Concat(bytes.Repeat([]byte{0xaa}, 48), bytes.Repeat([]byte{0xb0}, 32), amount,
		bytes.Repeat([]byte{0xcc}, 96))
	call := func(nonce uint64, to common.Address, value int64, data []byte) *types.Transaction {
		return signed(t, testKey(2), &types.DynamicFeeTx{
			ChainID: big.NewInt(testChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: 2_000_000, To: &to, Value: big.NewInt(value), Data: data,
		})
	}
	built := land(t, n, argsFor(n, 1,
		call(0, params.BuilderDepositAddress, 2*params.Ether, deposit),
		call(1, params.BuilderDepositAddress, params.Ether, deposit), // less than its amount: it fails
		call(2, params.BuilderExitAddress, 1_000_000, bytes.Repeat([]byte{0xdd}, 48)),
	))
	if len(built.Gloas.BuilderDeposits) != 1 || len(built.Gloas.BuilderExits) != 1 {
		t.Fatalf("%+v", built.Gloas)
	}
	if d := built.Gloas.BuilderDeposits[0]; d.Amount != 1_500_000_000 || d.Pubkey[47] != 0xaa || d.Signature[95] != 0xcc {
		t.Errorf("deposit %+v", d)
	}
	if e := built.Gloas.BuilderExits[0]; common.Address(e.SourceAddress) != addressOf(testKey(2)) || e.Pubkey[0] != 0xdd {
		t.Errorf("exit %+v", e)
	}
}

// Blob limits that change before gloas and after it are those of the chain. go-ethereum has room
// for two changes before the fork.
func TestBlobLimitsAroundGloas(t *testing.T) {
	spec := specOf(eth.Fulu, eth.Gloas)
	spec.Forks[1].Epoch = 3
	spec.Blobs = []eth.BlobLimit{{Epoch: 1, MaxBlobs: 12}, {Epoch: 4, MaxBlobs: 15}, {Epoch: 5, MaxBlobs: 21}}
	genesis, err := GenesisOf(Config{Spec: spec, ChainID: testChainID})
	if err != nil {
		t.Fatal(err)
	}
	if err := genesis.Config.CheckConfigForkOrder(); err != nil {
		t.Fatal(err)
	}
	for slot := phase0.Slot(0); slot < 16; slot++ {
		want := int(spec.MaxBlobs(slot))
		if got := eip4844.MaxBlobsPerBlock(genesis.Config, spec.Timestamp(slot)); got != want {
			t.Errorf("slot %d: %d blobs, the spec says %d", slot, got, want)
		}
	}
	spec.Forks[1].Epoch = 6
	if _, err := GenesisOf(Config{Spec: spec, ChainID: testChainID}); err == nil ||
		!strings.Contains(err.Error(), "from fulu to gloas") {
		t.Errorf("three limits before gloas: %v", err)
	}
}

// rehashed is the hash of a payload after a change.
func rehashed(t testing.TB, p *gloas.ExecutionPayload, root phase0.Root) phase0.Hash32 {
	t.Helper()
	block, err := engine.ExecutableDataToBlockNoHash(payload.GloasToEngine(p), []common.Hash{}, (*common.Hash)(&root),
		[][]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return phase0.Hash32(block.Hash())
}
