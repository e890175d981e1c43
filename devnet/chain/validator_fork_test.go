package chain_test

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// The first block of each fork, on a parent of the fork before, passes; called by that other fork's
// name it does not.
func TestForkBoundaries(t *testing.T) {
	cfg := chaintest.ConfigOf(chaintest.Forks()...)
	cfg.Spec.SlotsPerEpoch = 1
	n := chaintest.OpenWith(t, cfg)
	v := chain.NewValidator(n.Chain(), chain.ValidatorOptions{})
	for slot := phase0.Slot(1); slot <= 5; slot++ {
		args := chaintest.GoodArgs(t, n, eth.Bellatrix)
		args.Slot, args.Parent = slot, phase0.Hash32(n.Chain().CurrentBlock().Hash())
		args.Transactions = []*types.Transaction{chaintest.Transfer(t, 2*uint64(slot)-2),
			chaintest.Transfer(t, 2*uint64(slot)-1)}
		b := chaintest.Build(t, n, args)
		if verdict := v.Validate(t.Context(), b); verdict.Class != exec.Valid {
			t.Fatalf("%s: %+v", b.Fork, verdict)
		}
		for _, other := range chaintest.Forks() {
			if other == b.Fork {
				continue
			}
			called := *b
			bent := *b.Payload
			called.Fork, called.Payload = other, &bent
			called.Blobs, called.Requests = &payload.Blobs{}, payload.EmptyRequests()
			called.Gloas = &payload.Gloas{AccessList: []byte{0xc0}, Slot: slot}
			chaintest.Rehash(t, &called)
			if verdict := v.Validate(t.Context(), &called); verdict.Class != exec.Invalid || verdict.Rule != exec.RuleHeader {
				t.Errorf("%s, called %s: %+v", b.Fork, other, verdict)
			}
		}
		var blobs payload.Blobs
		if b.Blobs != nil {
			blobs = *b.Blobs
		}
		if b.Gloas == nil {
			err := n.Import(t.Context(), b.Fork, b.Payload, blobs.Commitments, b.ParentBeaconRoot, b.Requests)
			if err != nil {
				t.Fatal(err)
			}
		} else {
			p, requests := payload.JoinGloas(b.Payload, b.Requests, b.Gloas)
			if err := n.ImportGloas(t.Context(), p, blobs.Commitments, b.ParentBeaconRoot, requests); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.SetHead(t.Context(), b.Payload.BlockHash); err != nil {
			t.Fatal(err)
		}
	}
}

// What we cannot know speaks for nobody: a parent of which we have the header only, and a fork that
// exec.Block has no name for.
func TestWhatCannotBeJudged(t *testing.T) {
	n := chaintest.Open(t, eth.Fulu)
	first := chaintest.Build(t, n, chaintest.GoodArgs(t, n, eth.Fulu))
	if err := n.Import(t.Context(), first.Fork, first.Payload, first.Blobs.Commitments, first.ParentBeaconRoot,
		first.Requests); err != nil {
		t.Fatal(err)
	}
	args := chaintest.GoodArgs(t, n, eth.Fulu)
	args.Slot, args.Parent = 2, first.Payload.BlockHash
	args.Transactions = []*types.Transaction{chaintest.Transfer(t, 3)}
	second := chaintest.Build(t, n, args)

	for name, row := range map[string]struct {
		change func(*core.Genesis)
		rule   exec.Rule
	}{
		"the parent's header only": {func(*core.Genesis) {}, exec.RuleMissingState},
		"a fork after gloas": {func(g *core.Genesis) {
			at := second.Payload.Timestamp
			g.Config.AmsterdamTime, g.Config.BogotaTime = &at, &at
		}, exec.RuleUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			genesis, err := chain.GenesisOf(chaintest.ConfigOf(eth.Fulu))
			if err != nil {
				t.Fatal(err)
			}
			row.change(genesis)
			bc, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer bc.Stop()
			parent := n.Chain().GetHeaderByHash(common.Hash(first.Payload.BlockHash))
			if _, err := bc.InsertHeaderChain([]*types.Header{parent}); err != nil {
				t.Fatal(err)
			}
			verdict := chain.NewValidator(bc, chain.ValidatorOptions{}).Validate(t.Context(), second)
			if verdict.Class != exec.Infrastructure || verdict.Rule != row.rule {
				t.Errorf("%+v", verdict)
			}
		})
	}
}
