package simulate_test

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// What the transactions of a block paid is what its coinbase has more than before.
func TestReplayTellsWhatTheCoinbaseGot(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			r := openChain(t, fork, simulate.Options{})
			r.grow(t, r.call(user, counter, 0, 60_000))
			txs := []exec.Tx{
				r.call(searcher, payer, 12345, 60_000), r.call(user, reverter, 0, 50_000), r.call(searcher, counter, 0, 60_000),
				r.callWith(user, common.Address{}, 0, 90_000, create),
			}
			if fork >= eth.Deneb {
				txs = append(txs, r.blobs(searcher, 2))
			}
			block := r.grow(t, txs...)
			r.grow(t, r.call(user, counter, 0, 60_000)) // the chain has gone on
			landing, err := r.Replay(t.Context(), block)
			if err != nil {
				t.Fatal(err)
			}
			if landing.Block != block || len(landing.Txs) != len(block.Transactions()) {
				t.Fatalf("%d transactions", len(landing.Txs))
			}
			sum := new(uint256.Int)
			for i, receipt := range r.chain.GetReceiptsByHash(block.Hash()) {
				compare(t, i, &landing.Txs[i], receipt)
				sum.Add(sum, landing.Txs[i].CoinbaseDiffWei)
			}
			if log := landing.Txs[2].Logs[0]; log.BlockHash != block.Hash() {
				t.Errorf("a log is in block %s", log.BlockHash)
			}
			before, after := r.balanceAt(t, block.ParentHash(), coinbase), r.balanceAt(t, block.Hash(), coinbase)
			if gain := new(uint256.Int).Sub(after, before); !gain.Eq(sum) {
				t.Errorf("the transactions paid %s wei, the coinbase gained %s", sum.Dec(), gain.Dec())
			}
			if got := landing.Txs[0].ToCoinbaseWei.Uint64(); got != 12345 {
				t.Errorf("beside the fees: %d wei", got)
			}
		})
	}
}

// The same for blocks of the devnet, with a beacon root and a payment at the end that the coinbase
// itself makes.
func TestReplayOfDevnetBlocks(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Deneb, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			spec := &eth.Spec{
				GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
				Forks: []eth.ForkPoint{{Fork: fork}},
			}
			n, err := chain.Open(chain.Config{Spec: spec, ChainID: 1, Funded: []common.Address{addressOf(user),
				addressOf(searcher)}})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			signer := types.LatestSigner(n.Chain().Config())
			var txs []*types.Transaction
			for nonce := range uint64(3) {
				txs = append(txs, types.MustSignNewTx(user, signer, &types.DynamicFeeTx{
					ChainID: big.NewInt(1), Nonce: nonce, GasTipCap: big.NewInt(gwei), GasFeeCap: big.NewInt(100 * gwei), Gas: 21_000,
					To: &common.Address{1},
				}))
			}
			slotTime := spec.Timestamp(1)
			txs = append(txs, types.MustSignNewTx(user, signer, &types.DynamicFeeTx{
				ChainID: big.NewInt(1), Nonce: 3, GasTipCap: big.NewInt(gwei), GasFeeCap: big.NewInt(100 * gwei), Gas: 60_000,
				To:   &params.BeaconRootsAddress,
				Data: common.BigToHash(new(big.Int).SetUint64(slotTime)).Bytes(),
			}))
			built, err := n.Build(t.Context(), chain.BuildArgs{
				Parent: phase0.Hash32(n.Genesis().Hash()), Slot: 1, ParentBeaconRoot: phase0.Root{7}, Coinbase: addressOf(searcher),
				GasLimitTarget: 60_000_000, Transactions: txs, Payment: &chain.Payment{From: searcher, To: common.Address{0xfe}},
			})
			if err != nil {
				t.Fatal(err)
			}
			landing, err := simulate.New(chain.NewStates(n.Chain()), simulate.Options{}).Replay(t.Context(), built.Block)
			if err != nil {
				t.Fatal(err)
			}
			sum := new(uint256.Int)
			for _, tx := range landing.Txs {
				sum.Add(sum, tx.CoinbaseDiffWei)
			}
			if len(landing.Txs) != 5 || !sum.Eq(built.CoinbaseGainWei) {
				t.Errorf("%d transactions paid %s wei, the builder counted %s", len(landing.Txs), sum.Dec(),
					built.CoinbaseGainWei.Dec())
			}
			if asked := landing.Txs[3]; common.BytesToHash(asked.Return) != (common.Hash{7}) {
				t.Errorf("the beacon root is %x, %v", asked.Return, asked.Err)
			}
		})
	}
}

// A block that does something else here than its header says, or whose parent is not known, is not
// told about.
func TestReplayThatDisagrees(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	block := r.grow(t, r.call(user, counter, 0, 60_000))
	changed := func(change func(*types.Header)) *types.Block {
		header := block.Header()
		change(header)
		return block.WithSeal(header)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		ctx   context.Context
		block *types.Block
		want  error // nil for any
	}{
		"gas":            {t.Context(), changed(func(h *types.Header) { h.GasUsed++ }), nil},
		"unknown parent": {t.Context(), changed(func(h *types.Header) { h.ParentHash[0] ^= 1 }), exec.ErrUnknownBlock},
		"another state":  {t.Context(), changed(func(h *types.Header) { h.ParentHash = block.Hash() }), nil},
		"excess blobs": {t.Context(), changed(func(h *types.Header) {
			h.GasUsed, h.ExcessBlobGas = 0, new(^uint64(0))
		}), nil},
		"no base fee": {t.Context(), changed(func(h *types.Header) { h.BaseFee = nil }), nil},
		"no time":     {cancelled, block, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			landing, err := r.Replay(row.ctx, row.block)
			if landing != nil || err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
