package simulate_test

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// docs/spec.md, Calls: what the coinbase gets is the tip for the gas, and what it is sent beside
// it.
func TestCallCountsWhatTheCoinbaseGets(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			r := openChain(t, fork, simulate.Options{})
			result := r.mustCall(t, latest,
				r.call(searcher, payer, ether/10, 60_000), r.call(user, common.Address{1}, 5, 21_000),
				r.call(user, reverter, 0, 60_000))
			paid, moved, failed := result.Results[0], result.Results[1], result.Results[2]

			if got := paid.ToCoinbaseWei.Dec(); got != "100000000000000000" {
				t.Errorf("a payment of 0.1 ether shows as %s wei", got)
			}
			if want := paid.GasUsed * gwei; !paid.GasFeesWei.Eq(uint256.NewInt(want)) {
				t.Errorf("fees are %s wei, want %d gas × 1 gwei = %d", paid.GasFeesWei.Dec(), paid.GasUsed, want)
			}
			if moved.GasUsed != 21_000 || moved.CoinbaseDiffWei.Uint64() != 21_000*gwei || !moved.ToCoinbaseWei.IsZero() ||
				moved.GasPriceWei.Uint64() != gwei {
				t.Errorf("a transfer: %+v", moved)
			}
			if !errors.Is(failed.Err, vm.ErrExecutionReverted) ||
				!bytes.Equal(failed.Return, common.LeftPadBytes([]byte{42}, 32)) ||
				failed.CoinbaseDiffWei.Uint64() != failed.GasUsed*gwei {
				t.Errorf("one that reverts stays and pays: %+v", failed)
			}
			checkSums(t, result)
		})
	}
}

// checkSums holds for every answer: each difference is fees and the rest, and each sum is one.
func checkSums(t interface{ Errorf(string, ...any) }, result *exec.CallResult) {
	fees, rest, gas := new(uint256.Int), new(uint256.Int), uint64(0)
	for _, tx := range result.Results {
		if !new(uint256.Int).Add(tx.GasFeesWei, tx.ToCoinbaseWei).Eq(tx.CoinbaseDiffWei) {
			t.Errorf("%s: %s + %s is not %s", tx.Hash, tx.GasFeesWei, tx.ToCoinbaseWei, tx.CoinbaseDiffWei)
		}
		fees.Add(fees, tx.GasFeesWei)
		rest.Add(rest, tx.ToCoinbaseWei)
		gas += tx.GasUsed
	}
	if !fees.Eq(result.GasFeesWei) || !rest.Eq(result.ToCoinbaseWei) || gas != result.GasUsed ||
		!new(uint256.Int).Add(fees, rest).Eq(result.CoinbaseDiffWei) {
		t.Errorf("sums of the transactions: %s %s %d; the answer: %+v", fees, rest, gas, result)
	}
}

// Who is coinbase and spends has paid nothing, however much it spent: amounts are not negative.
func TestCoinbaseThatPaysItself(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	env := latest
	env.Coinbase = new(addressOf(searcher))
	result := r.mustCall(t, env, r.call(searcher, common.Address{1}, ether, 21_000),
		r.call(user, common.Address{1}, 1, 21_000))
	if spent := result.Results[0]; !spent.CoinbaseDiffWei.IsZero() || !spent.GasFeesWei.IsZero() ||
		!spent.ToCoinbaseWei.IsZero() {
		t.Errorf("%+v", spent)
	}
	if got := result.CoinbaseDiffWei.Uint64(); got != 21_000*gwei {
		t.Errorf("%d wei in all, want the other's fees", got)
	}
	checkSums(t, result)
}

// A transaction that no block could have is an error with its hash and the execution's own words;
// clients look for their beginning.
func TestNotIncludable(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	cheap := func(d *types.DynamicFeeTx) { d.Nonce, d.GasTipCap, d.GasFeeCap = 1, big.NewInt(1), big.NewInt(1) }
	nonce := func(n uint64) func(*types.DynamicFeeTx) { return func(d *types.DynamicFeeTx) { d.Nonce = n } }
	r.grow(t, r.call(user, common.Address{1}, 1, 21_000))
	for name, row := range map[string]struct {
		tx   exec.Tx
		want error
	}{
		"nonce too low":   {r.callWith(user, common.Address{1}, 1, 21_000, nonce(0)), core.ErrNonceTooLow},
		"nonce too high":  {r.callWith(user, common.Address{1}, 1, 21_000, nonce(5)), core.ErrNonceTooHigh},
		"no money":        {r.callWith(testKey("poor"), common.Address{1}, 1, 21_000, nonce(0)), core.ErrInsufficientFunds},
		"too little gas":  {r.callWith(user, common.Address{1}, 1, 20_999, nonce(1)), core.ErrIntrinsicGas},
		"too much gas":    {r.callWith(user, common.Address{1}, 1, 1<<60, nonce(1)), core.ErrGasLimitReached},
		"fee cap too low": {r.callWith(user, common.Address{1}, 1, 21_000, cheap), core.ErrFeeCapTooLow},
	} {
		t.Run(name, func(t *testing.T) {
			good := r.callWith(searcher, common.Address{1}, 1, 21_000, nonce(0))
			_, err := r.Call(t.Context(), []exec.Tx{good, row.tx}, latest)
			refused := (*exec.InclusionError)(nil)
			if !errors.As(err, &refused) || refused.Tx != row.tx.Hash() || !errors.Is(err, row.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Together they may use more than a block holds.
func TestCallFillsMoreThanABlock(t *testing.T) {
	r := openChain(t, eth.Electra, simulate.Options{}) // osaka limits each transaction
	env := latest
	env.GasLimit = 100_000
	var txs []exec.Tx
	for range 6 {
		txs = append(txs, r.call(user, common.Address{1}, 1, 21_000))
	}
	if got := r.mustCall(t, env, txs...).GasUsed; got != 6*21_000 {
		t.Errorf("%d gas", got)
	}
	result := r.mustSimulate(t, env, bundleOf(txs...))
	if result.Success || result.Error != "gas limit reached" || len(result.Txs) != 4 || result.Lasting {
		t.Errorf("a bundle has to fit into a block: %+v", result)
	}
}

// The same transactions, with the environment of the block that go-ethereum made of them, do what
// its receipts say.
func TestCallAgreesWithBlocks(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			r := openChain(t, fork, simulate.Options{})
			r.grow(t, r.call(user, counter, 0, 60_000))
			parent := r.chain.CurrentBlock()
			txs := []exec.Tx{
				r.call(user, counter, 0, 60_000), r.call(searcher, payer, 7, 60_000), r.call(user, reverter, 0, 50_000),
				r.call(searcher, witness, 0, 80_000), r.call(user, counter, 0, 60_000), r.call(searcher, looper, 0, 40_000),
				r.callWith(user, common.Address{}, 0, 90_000, create),
			}
			block := r.grow(t, txs...)
			result := r.mustCall(t, environmentOf(block), txs...)
			if result.Parent.Hash() != parent.Hash() || result.GasUsed != block.GasUsed() {
				t.Errorf("on %d: %d gas, the block used %d", result.Parent.Number, result.GasUsed, block.GasUsed())
			}
			for i, receipt := range r.chain.GetReceiptsByHash(block.Hash()) {
				compare(t, i, &result.Results[i], receipt)
			}
			before, after := r.balanceAt(t, block.ParentHash(), coinbase), r.balance(t, coinbase)
			if gain := new(uint256.Int).Sub(after, before); !gain.Eq(result.CoinbaseDiffWei) {
				t.Errorf("coinbase gained %s, want %s", result.CoinbaseDiffWei.Dec(), gain.Dec())
			}
		})
	}
}

// create turns a call into a creation, of a contract with the code 00.
func create(d *types.DynamicFeeTx) { d.To, d.Data = nil, common.FromHex("600160006000f3") }

// environmentOf is the environment of a block of the chain.
func environmentOf(block *types.Block) exec.Environment {
	return exec.Environment{
		ParentHash: block.ParentHash(), Number: block.NumberU64(), Timestamp: block.Time(), Coinbase: new(block.Coinbase()),
		GasLimit:   block.GasLimit(),
		BaseFeeWei: uint256.MustFromBig(block.BaseFee()), ExcessBlobGas: block.ExcessBlobGas(),
		Difficulty: new(uint256.Int).SetBytes(block.MixDigest().Bytes()),
	}
}

// compare wants a result to say what a receipt says.
func compare(t *testing.T, i int, got *exec.TxResult, want *types.Receipt) {
	t.Helper()
	succeeded := want.Status == types.ReceiptStatusSuccessful
	if got.GasUsed != want.GasUsed || got.BlobGasUsed != want.BlobGasUsed || (got.Err == nil) != succeeded ||
		len(got.Logs) != len(want.Logs) {
		t.Errorf("transaction %d: %+v; its receipt: %+v", i, got, want)
		return
	}
	for j, log := range want.Logs {
		mine := got.Logs[j]
		if mine.Address != log.Address || !bytes.Equal(mine.Data, log.Data) || mine.Index != log.Index ||
			mine.TxIndex != log.TxIndex ||
			mine.TxHash != log.TxHash || mine.BlockNumber != log.BlockNumber {
			t.Errorf("transaction %d, log %d: %+v, want %+v", i, j, mine, log)
		}
	}
}

// Without wishes the environment is that of the block after the parent.
func TestEnvironmentDefaults(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			r := openChain(t, fork, simulate.Options{})
			first := words(r.mustCall(t, latest, r.call(user, witness, 0, 100_000)))
			if first[3].Cmp(r.genesis.Mixhash.Big()) != 0 {
				t.Errorf("prevrandao on genesis is %#x", first[3])
			}
			r.nonces[addressOf(user)] = 0
			r.grow(t)
			parent := r.grow(t, r.call(user, common.Address{1}, 1, 21_000)).Header()
			seen := words(r.mustCall(t, latest, r.call(user, witness, 0, 100_000)))
			want := []*big.Int{
				parent.Hash().Big(), new(big.Int).SetUint64(parent.Time + 12), parent.Coinbase.Big(), parent.MixDigest.Big(),
				new(big.Int).Add(parent.Number, common.Big1), eip1559.CalcBaseFee(r.chain.Config(), parent),
				parent.ParentHash.Big(),
				new(big.Int).SetUint64(parent.GasLimit),
			}
			checkWords(t, seen, want)
		})
	}
}

// Every wish is fulfilled, on each way to name a parent.
func TestEnvironmentWishes(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	first := r.grow(t)
	r.grow(t, r.call(user, common.Address{1}, 1, 21_000))
	r.nonces[addressOf(user)] = 0 // as it was before
	env := exec.Environment{
		Number: 10, Timestamp: first.Time() + 100, Coinbase: &common.Address{9}, GasLimit: 12_345_678,
		BaseFeeWei:    uint256.NewInt(77),
		ExcessBlobGas: new(^uint64(0)), Difficulty: uint256.NewInt(99),
	}
	tx := r.call(user, witness, 0, 100_000)
	want := []*big.Int{
		new(big.Int), new(big.Int).SetUint64(first.Time() + 100), common.Address{9}.Big(), big.NewInt(99), big.NewInt(10),
		big.NewInt(77), new(big.Int),
		big.NewInt(12_345_678),
	}
	for name, parent := range map[string]func(*exec.Environment){
		"hash": func(e *exec.Environment) { e.ParentHash = first.Hash() }, "number": func(e *exec.Environment) {
			e.ParentNumber = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := env
			parent(&env)
			result := r.mustCall(t, env, tx)
			if result.Parent.Hash() != first.Hash() {
				t.Errorf("the parent is %d", result.Parent.Number)
			}
			checkWords(t, words(result), want)
		})
	}
}

// words are what the witness saw.
func words(result *exec.CallResult) []*big.Int {
	var out []*big.Int
	for raw := result.Results[0].Return; len(raw) > 0; raw = raw[32:] {
		out = append(out, new(big.Int).SetBytes(raw[:32]))
	}
	return out
}

func checkWords(t *testing.T, seen, want []*big.Int) {
	t.Helper()
	names := []string{"blockhash(-1)", "timestamp", "coinbase", "prevrandao", "number", "base fee",
		"blockhash(-2)", "gas limit"}
	if len(seen) != len(want) {
		t.Fatalf("%d words, want %d", len(seen), len(want))
	}
	for i := range want {
		if seen[i].Cmp(want[i]) != 0 {
			t.Errorf("%s is %#x, want %#x", names[i], seen[i], want[i])
		}
	}
}

// A state that is not there is not simulated on.
func TestUnknownParents(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	for name, env := range map[string]exec.Environment{"hash": {ParentHash: common.Hash{1}}, "number": {ParentNumber: 1}} {
		t.Run(name, func(t *testing.T) {
			if _, err := r.Call(t.Context(), []exec.Tx{r.call(user, counter, 0, 60_000)}, env); !errors.Is(err,
				exec.ErrUnknownBlock) {
				t.Errorf("%v", err)
			}
			if _, err := r.Simulate(t.Context(), &exec.Bundle{}, env); !errors.Is(err, exec.ErrUnknownBlock) {
				t.Errorf("%v", err)
			}
		})
	}
}
