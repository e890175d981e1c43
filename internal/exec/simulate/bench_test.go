package simulate_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// market is what a swap is to a machine: for i from 0 to 15, SSTORE(i, SLOAD(i)+1) and a hash of 64
// bytes. All slots are used before.
var market = common.HexToAddress("0xc800000000000000000000000000000000000000")

// swaps are three calls of the market, 103,000 gas each, on a chain that has it.
func swaps(b *testing.B) (*testChain, []exec.Tx) {
	b.Helper()
	contracts[market] = "6000" + "5b" + "8054600101" + "8155" + "604060002050" + "600101" + "80601011600257" + "00"
	defer delete(contracts, market)
	r := openChain(b, eth.Fulu, simulate.Options{})
	r.grow(b, r.call(searcher, market, 0, 500_000)) // fills the slots
	return r, []exec.Tx{r.call(user, market, 0, 200_000), r.call(user, market, 0, 200_000),
		r.call(user, market, 0, 200_000)}
}

// bare is the least that anybody must do for the same: open the state, make the machine, run the
// messages.
func bare(b *testing.B, r *testChain, txs []exec.Tx, jumps vm.JumpDestCache) {
	parent := r.chain.CurrentBlock()
	st, err := r.chain.StateAt(parent.Root, parent.Number, parent.Time)
	if err != nil {
		b.Fatal(err)
	}
	header := &types.Header{
		ParentHash: parent.Hash(), Number: new(big.Int).Add(parent.Number, common.Big1), Time: parent.Time + 12,
		Coinbase: coinbase,
		GasLimit: parent.GasLimit, Difficulty: new(big.Int), BaseFee: parent.BaseFee, ExcessBlobGas: new(uint64),
	}
	evm := vm.NewEVM(core.NewEVMBlockContext(header, r.chain, &coinbase), st, r.chain.Config(), vm.Config{})
	defer evm.Release()
	evm.SetJumpDestCache(jumps)
	signer := types.LatestSigner(r.chain.Config())
	gas := core.NewGasPool(^uint64(0))
	for i, tx := range txs {
		// the sender is in the transaction's own cache
		msg, err := core.TransactionToMessage(tx.Transaction, signer, header.BaseFee)
		if err != nil {
			b.Fatal(err)
		}
		st.SetTxContext(tx.Hash(), i, uint32(i+1))
		did, err := core.ApplyMessage(evm, msg, gas)
		if err != nil || did.Failed() {
			b.Fatal(err, did)
		}
		st.Finalise(evm.GetRules())
	}
}

// race runs two ways of doing the same in turn, each as often first as second, and reports which
// part of their speed ours has: the quotient of the median times.
func race(b *testing.B, ours, theirs func()) {
	var took [2][]time.Duration
	ways := [2]func(){ours, theirs}
	for round := 0; b.Loop(); round++ {
		for turn := range ways {
			which := (round + turn) % 2
			start := time.Now()
			ways[which]()
			took[which] = append(took[which], time.Since(start))
		}
	}
	var medians [2]float64
	for i := range took {
		slices.Sort(took[i])
		medians[i] = float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(medians[1]/medians[0], "of-bare")
	b.ReportMetric(medians[0]/1000, "µs/simulation")
	b.ReportMetric(0, "ns/op") // of both together, which means nothing
}

// BenchmarkCallBundle compares a simulation of three swaps with the machine alone. The metric
// of-bare is the part of the machine's speed that is left. What is missing is mostly the system
// call that a block begins with.
func BenchmarkCallBundle(b *testing.B) {
	r, txs := swaps(b)
	jumps := core.NewJumpDestCache()
	race(b, func() {
		if result, err := r.Call(b.Context(), txs, latest); err != nil || result.GasUsed < 300_000 {
			b.Fatal(err, result)
		}
	}, func() { bare(b, r, txs, jumps) })
}

// BenchmarkSimulateBundle is the same for a bundle with a refund.
func BenchmarkSimulateBundle(b *testing.B) {
	r, txs := swaps(b)
	bundle := bundleOf(txs...)
	bundle.Refunds = []exec.Refund{{Element: 0, Percent: 0}}
	env := latest
	env.BaseFeeWei = new(uint256.Int)
	jumps := core.NewJumpDestCache()
	race(b, func() {
		if result, err := r.Simulate(b.Context(), bundle, env); err != nil || !result.Success {
			b.Fatal(err, result)
		}
	}, func() { bare(b, r, txs, jumps) })
}
