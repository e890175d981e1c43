package chain_test

import (
	"errors"
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
	"github.com/gavel-relay/gavel/internal/exec"
)

// branch is a devnet whose blocks carry one transfer each.
type branch struct {
	*chain.Node
	nonces map[common.Hash]uint64 // of the next transfer on a block
	slots  map[common.Hash]phase0.Slot
}

func grown(t testing.TB) *branch {
	n := chaintest.Open(t, eth.Fulu)
	genesis := n.Genesis().Hash()
	return &branch{Node: n, nonces: map[common.Hash]uint64{genesis: 0}, slots: map[common.Hash]phase0.Slot{genesis: 0}}
}

// on imports a block on a parent, told from others by its name. It becomes the head only if that is
// asked for.
func (b *branch) on(t testing.TB, parent common.Hash, name string, head bool) common.Hash {
	t.Helper()
	args := chain.BuildArgs{
		Parent: phase0.Hash32(parent), Slot: b.slots[parent] + 1, ParentBeaconRoot: chaintest.ParentRoot,
		Coinbase:       chaintest.Payee,
		GasLimitTarget: chaintest.GasLimit,
		ExtraData:      []byte(name), Transactions: []*types.Transaction{chaintest.Transfer(t, b.nonces[parent])},
	}
	built := chaintest.Build(t, b.Node, args)
	if err := b.Import(t.Context(), built.Fork, built.Payload, nil, built.ParentBeaconRoot, built.Requests); err != nil {
		t.Fatal(err)
	}
	hash := common.Hash(built.Payload.BlockHash)
	b.nonces[hash], b.slots[hash] = b.nonces[parent]+1, args.Slot
	if head {
		b.lead(t, hash)
	}
	return hash
}

func (b *branch) lead(t testing.TB, hash common.Hash) {
	t.Helper()
	if err := b.SetHead(t.Context(), phase0.Hash32(hash)); err != nil {
		t.Fatal(err)
	}
}

// A state is that after the block that was named, in whatever way; BLOCKHASH knows that block and
// those before.
func TestStatesOfEveryBlock(t *testing.T) {
	n := grown(t)
	genesis := n.Genesis().Hash()
	one := n.on(t, genesis, "one", true)
	two := n.on(t, one, "two", true)
	side := n.on(t, one, "beside", false)
	ahead := n.on(t, two, "imported only", false)
	s := chain.NewStates(n.Chain())
	for name, row := range map[string]struct {
		env  exec.Environment
		want common.Hash
	}{
		"latest":                {exec.Environment{Latest: true}, two},
		"number":                {exec.Environment{ParentNumber: 1}, one},
		"genesis by number":     {exec.Environment{}, genesis},
		"hash":                  {exec.Environment{ParentHash: one}, one},
		"hash before all else":  {exec.Environment{ParentHash: one, ParentNumber: 2, Latest: true}, one},
		"latest before number":  {exec.Environment{ParentNumber: 1, Latest: true}, two},
		"beside the chain":      {exec.Environment{ParentHash: side}, side},
		"imported, not head":    {exec.Environment{ParentHash: ahead}, ahead},
		"above head, by number": {exec.Environment{ParentNumber: 3}, common.Hash{}},
		"unknown hash":          {exec.Environment{ParentHash: common.Hash{1}}, common.Hash{}},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := s.At(t.Context(), row.env)
			if row.want == (common.Hash{}) {
				if !errors.Is(err, exec.ErrUnknownBlock) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if st.Parent.Hash() != row.want || st.DB.GetNonce(chaintest.AddressOf(chaintest.UserKey)) != n.nonces[row.want] {
				t.Errorf("block %s, nonce %d", st.Parent.Hash(), st.DB.GetNonce(chaintest.AddressOf(chaintest.UserKey)))
			}
			for h := st.Parent; ; h = n.Chain().GetHeaderByHash(h.ParentHash) {
				if got := st.Hash(h.Number.Uint64()); got != h.Hash() {
					t.Errorf("block %d has hash %s, want %s", h.Number, got, h.Hash())
				}
				if h.Number.Sign() == 0 {
					break
				}
			}
			if got := st.Hash(st.Parent.Number.Uint64() + 1); got != (common.Hash{}) {
				t.Errorf("the hash of the next block is %s", got)
			}
		})
	}
}

// A block of which there is only the header has no state.
func TestStateThatIsGone(t *testing.T) {
	n := grown(t)
	one := n.Chain().GetHeaderByHash(n.on(t, n.Genesis().Hash(), "one", true))
	genesis, err := chain.GenesisOf(chaintest.ConfigOf(eth.Fulu))
	if err != nil {
		t.Fatal(err)
	}
	bc, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bc.Stop()
	if _, err := bc.InsertHeaderChain([]*types.Header{one}); err != nil {
		t.Fatal(err)
	}
	if _, err := chain.NewStates(bc).At(t.Context(), exec.Environment{ParentHash: one.Hash()}); !errors.Is(err,
		exec.ErrUnknownBlock) {
		t.Errorf("%v", err)
	}
}
