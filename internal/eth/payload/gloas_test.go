package payload

import (
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// amsterdam is a genesis in the fork of the execution layer that goes with gloas, and three blocks
// on it: transfers to accounts that are new, and a withdrawal.
func amsterdam(t *testing.T) (*core.Genesis, []*types.Block) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	config, now := *params.MergedTestChainConfig, uint64(0)
	config.AmsterdamTime = &now
	config.BlobScheduleConfig = params.MainnetChainConfig.BlobScheduleConfig
	alloc := types.GenesisAlloc{crypto.PubkeyToAddress(key.PublicKey): {Balance: big.NewInt(params.Ether)}}
	for address, account := range core.SystemContractAllocs() {
		alloc[address] = account
	}
	genesis := &core.Genesis{Config: &config, GasLimit: 60_000_000, Alloc: alloc, Difficulty: common.Big0}
	signer := types.LatestSigner(&config)
	_, blocks, _ := core.GenerateChainWithGenesis(genesis, beacon.New(ethash.NewFaker()), 3,
		func(i int, b *core.BlockGen) {
			to := common.Address{0xee, byte(i)}
			b.AddTx(types.MustSignNewTx(key, signer, &types.DynamicFeeTx{
				ChainID: config.ChainID, Nonce: b.TxNonce(crypto.PubkeyToAddress(key.PublicKey)), To: &to, Value: big.NewInt(7),
				Gas: 300_000, GasFeeCap: big.NewInt(params.GWei), GasTipCap: common.Big1,
			}))
			b.AddWithdrawal(&types.Withdrawal{Validator: 3, Address: common.Address{0xdd}, Amount: 5})
		})
	return genesis, blocks
}

// Blocks that go-ethereum builds come back from gloas' payload, through SSZ and JSON, and it
// imports them.
func TestGloasPayloadIsAnAmsterdamBlock(t *testing.T) {
	genesis, blocks := amsterdam(t)
	chain, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Stop()
	for _, block := range blocks {
		p := gloasOf(t, block)
		if p.SlotNumber != phase0.Slot(*block.SlotNumber()) || len(p.BlockAccessList) < 100 || len(p.Withdrawals) != 1 {
			t.Errorf("payload %+v", p)
		}
		raw, err := gloas.Mainnet.ExecutionPayload.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		fromSSZ, err := gloas.Mainnet.ExecutionPayload.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		text, err := gloas.Mainnet.ExecutionPayload.ToJSON(fromSSZ)
		if err != nil {
			t.Fatal(err)
		}
		fromJSON, err := gloas.Mainnet.ExecutionPayload.FromJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := GloasBlock(fromJSON, nil, phase0.Root(*block.BeaconRoot()), new(gloas.ExecutionRequests))
		if err != nil {
			t.Fatalf("block %d: %v", block.Number(), err)
		}
		if _, err := chain.InsertChain([]*types.Block{again}); err != nil {
			t.Errorf("block %d is not imported: %v", block.Number(), err)
		}
	}
}

func gloasOf(t *testing.T, block *types.Block) *gloas.ExecutionPayload {
	t.Helper()
	p, err := GloasFromEngine(engine.BlockToExecutableData(block, nil, nil, nil).ExecutionPayload)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The hash of a block commits to all that gloas adds to it. An access list that the header commits
// to, but that execution does not lead to, is found by executing the block.
func TestWrongAccessListIsAnInvalidBlock(t *testing.T) {
	genesis, blocks := amsterdam(t)
	root := phase0.Root(*blocks[0].BeaconRoot())
	other := gloasOf(t, blocks[1]).BlockAccessList
	for name, spoil := range map[string]func(*gloas.ExecutionPayload, *gloas.ExecutionRequests, *phase0.Root){
		"another access list": func(p *gloas.ExecutionPayload, _ *gloas.ExecutionRequests, _ *phase0.Root) {
			p.BlockAccessList = other
		},
		"an empty access list": func(p *gloas.ExecutionPayload, _ *gloas.ExecutionRequests, _ *phase0.Root) {
			p.BlockAccessList = []byte{0xc0}
		},
		"another slot": func(p *gloas.ExecutionPayload, _ *gloas.ExecutionRequests, _ *phase0.Root) { p.SlotNumber++ },
		"another withdrawal": func(p *gloas.ExecutionPayload, _ *gloas.ExecutionRequests, _ *phase0.Root) {
			p.Withdrawals = []*capella.Withdrawal{}
		},
		"requests": func(_ *gloas.ExecutionPayload, r *gloas.ExecutionRequests, _ *phase0.Root) {
			r.BuilderExits = []*gloas.BuilderExitRequest{{}}
		},
		"another beacon block": func(_ *gloas.ExecutionPayload, _ *gloas.ExecutionRequests, r *phase0.Root) { r[0]++ },
	} {
		p, requests, parent := gloasOf(t, blocks[0]), new(gloas.ExecutionRequests), root
		spoil(p, requests, &parent)
		if _, err := GloasBlock(p, nil, parent, requests); err == nil ||
			!strings.Contains(err.Error(), "blockhash mismatch") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := GloasBlock(gloasOf(t, blocks[0]), make([]deneb.KZGCommitment, 1), root,
		new(gloas.ExecutionRequests)); err == nil {
		t.Error("a commitment without its transaction passes")
	}

	p := gloasOf(t, blocks[0])
	p.BlockAccessList = other
	data := GloasToEngine(p)
	rehashed, err := engine.ExecutableDataToBlockNoHash(data, nil, (*common.Hash)(&root), [][]byte{})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Stop()
	if _, err := chain.InsertChain([]*types.Block{rehashed}); err == nil || !strings.Contains(err.Error(), "access list") {
		t.Errorf("a block with another one's access list: %v", err)
	}
}

// Payloads of other forks are told apart.
func TestGloasNeedsAnAccessList(t *testing.T) {
	_, blocks := amsterdam(t)
	for name, spoil := range map[string]func(*engine.ExecutableData){
		"no access list": func(d *engine.ExecutableData) { d.BlockAccessList = nil },
		"no slot":        func(d *engine.ExecutableData) { d.SlotNumber = nil },
	} {
		data := engine.BlockToExecutableData(blocks[0], nil, nil, nil).ExecutionPayload
		spoil(data)
		if _, err := GloasFromEngine(data); !errors.Is(err, errNotGloas) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Requests of validators have the form of electra; those of builders follow with types of their
// own.
func TestGloasRequests(t *testing.T) {
	of := &gloas.ExecutionRequests{
		Deposits:        []*electra.DepositRequest{{WithdrawalCredentials: make([]byte, 32), Amount: 1}},
		Withdrawals:     []*electra.WithdrawalRequest{{Amount: 2}, {Amount: 3}},
		Consolidations:  []*electra.ConsolidationRequest{{}},
		BuilderDeposits: []*gloas.BuilderDepositRequest{{Amount: 4}}, BuilderExits: []*gloas.BuilderExitRequest{{}, {}},
	}
	items, err := EncodeGloasRequests(of)
	if err != nil || len(items) != 5 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for i, size := range []int{192, 2 * 76, 116, 184, 2 * 68} {
		if items[i][0] != byte(i) || len(items[i]) != 1+size {
			t.Errorf("item %d is of type %d and has %d bytes: want %d", i, items[i][0], len(items[i]), 1+size)
		}
	}
	if back, err := DecodeGloasRequests(items); err != nil || !reflect.DeepEqual(back, of) {
		t.Errorf("read back %+v, %v", back, err)
	}
	for i, item := range items {
		if _, err := DecodeGloasRequests([][]byte{item[:len(item)-1]}); err == nil {
			t.Errorf("a request of type %d without its last byte passes", i)
		}
	}
	for name, wrong := range map[string][]byte{"no type": {}, "an unknown type": {5}} {
		if _, err := DecodeGloasRequests([][]byte{wrong}); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	same, err := DecodeRequests(items[:3])
	if err != nil || !SameRequests(same, &electra.ExecutionRequests{Deposits: of.Deposits, Withdrawals: of.Withdrawals,
		Consolidations: of.Consolidations}) {
		t.Errorf("%+v, %v", same, err)
	}
	if none, err := EncodeGloasRequests(new(gloas.ExecutionRequests)); err != nil || none == nil || len(none) != 0 {
		t.Errorf("%v, %v: want an empty list", none, err)
	}
	of.Deposits[0].WithdrawalCredentials = nil
	if _, err := EncodeGloasRequests(of); err == nil {
		t.Error("a deposit without credentials is encoded")
	}
}
