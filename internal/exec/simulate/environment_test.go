package simulate_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// asking calls a contract with one word.
func asking(word uint64) func(*types.DynamicFeeTx) {
	return func(d *types.DynamicFeeTx) { d.Data = common.BigToHash(new(big.Int).SetUint64(word)).Bytes() }
}

// EIP-2935: the block's first transaction finds the parent's hash in the history contract, as in a
// block of the chain. Of a block that is not the parent's child nobody knows what the contract
// would have, so it has what it had.
func TestHistoryContract(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			r := openChain(t, fork, simulate.Options{})
			parent := r.grow(t)
			tx := r.callWith(user, params.HistoryStorageAddress, 0, 60_000, asking(1))
			if got := r.mustCall(t, latest, tx).Results[0]; got.Err != nil || common.BytesToHash(got.Return) != parent.Hash() {
				t.Errorf("%x, %v; want %s", got.Return, got.Err, parent.Hash())
			}
			later := latest
			later.Number = 5
			r.nonces[addressOf(user)] = 0
			tx = r.callWith(user, params.HistoryStorageAddress, 0, 60_000, asking(4))
			if got := r.mustCall(t, later, tx).Results[0]; got.Err != nil || common.BytesToHash(got.Return) != (common.Hash{}) {
				t.Errorf("in block 5: %x, %v", got.Return, got.Err)
			}
		})
	}
}

// EIP-4788: a pretended block, whose own beacon root nobody knows yet, has those of the blocks
// before.
func TestBeaconRoots(t *testing.T) {
	r := openChain(t, eth.Deneb, simulate.Options{})
	block := r.grow(t)
	own := r.callWith(user, params.BeaconRootsAddress, 0, 60_000, asking(block.Time()+12))
	before := r.callWith(user, params.BeaconRootsAddress, 0, 60_000, asking(block.Time()))
	if result := r.mustCall(t, latest, own, before); result.Results[0].Err == nil || result.Results[1].Err != nil {
		t.Errorf("its own: %v, the parent's: %v", result.Results[0].Err, result.Results[1].Err)
	}
}

// scheduled are states under another chain's fork schedule.
type scheduled struct {
	simulate.States
	config *params.ChainConfig
}

func (s scheduled) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	st, err := s.States.At(ctx, env)
	if err == nil {
		st.Config = s.config
	}
	return st, err
}

// Whatever block is pretended, in whatever fork of mainnet from frontier on or after all of them:
// there is an answer or a refusal, and soon.
func TestAnyEnvironment(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	unscheduled := *params.MainnetChainConfig
	unscheduled.BlobScheduleConfig = nil // of a node that tells us half
	txs := []exec.Tx{r.call(user, counter, 0, 60_000), r.call(searcher, witness, 1, 90_000), r.blobs(user, 1)}
	for name, config := range map[string]*params.ChainConfig{"mainnet": params.MainnetChainConfig,
		"no blob schedule": &unscheduled} {
		t.Run(name, func(t *testing.T) {
			s := simulate.New(scheduled{r.states, config}, simulate.Options{Timeout: time.Hour})
			rapid.Check(t, func(t *rapid.T) {
				any64 := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 30_000_000), rapid.Just(uint64(math.MaxUint64)))
				word := rapid.Custom(func(t *rapid.T) *uint256.Int {
					if rapid.Bool().Draw(t, "nil") {
						return nil
					}
					return &uint256.Int{any64.Draw(t, "low"), 0, 0, rapid.SampledFrom([]uint64{0, 0, math.MaxUint64}).Draw(t, "high")}
				})
				env := exec.Environment{
					Number: any64.Draw(t, "number"), GasLimit: any64.Draw(t, "gas limit"), BaseFeeWei: word.Draw(t, "base fee"),
					Timestamp:     rapid.OneOf(any64, rapid.Uint64Range(1_680_000_000, 1_800_000_000)).Draw(t, "timestamp"),
					ExcessBlobGas: rapid.Ptr(any64, true).Draw(t, "excess"), Difficulty: word.Draw(t, "difficulty"),
				}
				refused := (*exec.InclusionError)(nil)
				if result, err := s.Call(t.Context(), txs, env); err == nil {
					checkSums(t, result)
				} else if !errors.As(err, &refused) {
					t.Fatal(err)
				}
				result, err := s.Simulate(t.Context(), bundleOf(txs...), env)
				if err != nil || result.Success == (result.Error != "") {
					t.Fatalf("%+v, %v", result, err)
				}
			})
		})
	}
}

// told are states whose node says something odd.
type told struct {
	simulate.States
	change func(*simulate.State)
}

func (o told) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	st, err := o.States.At(ctx, env)
	if err == nil {
		st.Parent = types.CopyHeader(st.Parent)
		o.change(st)
	}
	return st, err
}

// What a node tells beyond the parent is not believed, and headers that no chain has break nothing.
func TestOddStates(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	tx := r.call(user, witness, 0, 100_000)
	later := latest
	later.Number, later.GasLimit = 3, 30_000_000
	for name, change := range map[string]func(*simulate.State){
		"hashes of later blocks": func(st *simulate.State) { st.Hash = func(uint64) common.Hash { return common.Hash{1} } },
		"a gas limit of 1":       func(st *simulate.State) { st.Parent.GasLimit, st.Parent.GasUsed = 1, 1 },
		"no base fee":            func(st *simulate.State) { st.Parent.BaseFee = nil },
		"no difficulty":          func(st *simulate.State) { st.Parent.Difficulty = nil },
		"excess blobs, none used": func(st *simulate.State) {
			st.Parent.BlobGasUsed, st.Parent.ExcessBlobGas = nil, new(^uint64(0))
		},
		"all the blobs in the past": func(st *simulate.State) {
			st.Parent.BlobGasUsed, st.Parent.ExcessBlobGas = new(uint64), new(^uint64(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := simulate.New(told{r.states, change}, simulate.Options{}).Call(t.Context(), []exec.Tx{tx}, later)
			if err != nil || result.Results[0].Err != nil {
				t.Fatalf("%+v, %v", result, err)
			}
			if seen := words(result)[0]; seen.Sign() != 0 {
				t.Errorf("the hash of block 2, which is not there, is %#x", seen)
			}
		})
	}
}
