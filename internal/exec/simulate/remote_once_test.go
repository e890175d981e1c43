package simulate_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// signed is a transaction as simulations take it.
func signed(w *world, to common.Address) exec.Tx {
	tx := w.sign(bob, &to, 0, 100_000, nil)
	return exec.Tx{Transaction: tx, From: addressOf(bob)}
}

// However many simulations on a block run at once, the node is asked for each thing once; and after
// them for nothing.
func TestSimulationsTogetherAskOnce(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		contracts := w.deploy(countingContract, witnessContract)
		head := w.mine()
		tap := &tap{}
		simulator := simulate.New(w.states(tap), simulate.Options{})
		txs := []exec.Tx{signed(w, contracts[0]), signed(w, contracts[1])}
		env := exec.Environment{ParentHash: head.Hash()}
		var group errgroup.Group
		for range 32 {
			group.Go(func() error {
				_, err := simulator.Call(t.Context(), txs, env)
				return err
			})
		}
		must(t, group.Wait())
		_, calls := tap.seen()
		if len(calls) == 0 {
			t.Error("the node was never asked")
		}
		for call, times := range calls {
			if times != 1 {
				t.Errorf("%s was asked %d times", call, times)
			}
		}
		_, err := simulator.Call(t.Context(), txs, env)
		must(t, err)
		if requests, calls := tap.seen(); requests != 0 {
			t.Errorf("asked again: %v", calls)
		}
	})
}

// What transactions surely touch comes in two requests, one for the state and one for the codes,
// and the simulation asks only for the slots that nobody could foresee.
func TestWarmAsksInBatches(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	contracts := w.deploy(countingContract, witnessContract)
	head := w.mine()
	tap := &tap{}
	states := w.states(tap)
	_, err := states.At(t.Context(), exec.Environment{ParentHash: head.Hash()}) // header and config
	must(t, err)
	tap.seen()

	one, other := signed(w, contracts[0]), signed(w, contracts[1])
	list := simulate.Touched([]exec.Tx{one, other}, head.Coinbase())
	list = append(list, types.AccessTuple{Address: contracts[0], StorageKeys: []common.Hash{{}}})
	must(t, states.Warm(t.Context(), head.Header(), list))
	if requests, calls := tap.seen(); requests != 2 || len(calls) != 7 { // 4 accounts and 1 slot; 2 codes
		t.Errorf("%d requests with %d calls: %v", requests, len(calls), calls)
	}
	must(t, states.Warm(t.Context(), head.Header(), list))
	if requests, calls := tap.seen(); requests != 0 {
		t.Errorf("warmed again: %v", calls)
	}
	st, err := states.At(t.Context(), exec.Environment{ParentHash: head.Hash()})
	must(t, err)
	count := st.DB.GetState(contracts[0], common.Hash{})
	if st.DB.GetBalance(addressOf(bob)).IsZero() || st.DB.GetCodeSize(contracts[0]) == 0 || count != (common.Hash{}) {
		t.Error("something else was fetched than what is there")
	}
	if requests, calls := tap.seen(); requests != 0 {
		t.Errorf("asked for what was fetched ahead: %v", calls)
	}
}

// A list that is longer than what a node takes in a batch comes in several.
func TestWarmSplitsLongLists(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	head := w.mine()
	states := w.states(&tap{refuse: func(c call) int {
		if c.Method == "eth_getProof" {
			return -32601
		}
		return 0
	}})
	var list types.AccessList
	for i := range int64(500) {
		list = append(list, types.AccessTuple{Address: common.BigToAddress(big.NewInt(1000 + i)),
			StorageKeys: []common.Hash{{}, {31: 1}}})
	}
	list = append(list, types.AccessTuple{Address: addressOf(alice)})
	must(t, states.Warm(t.Context(), head.Header(), list))
	st, err := states.At(t.Context(), exec.Environment{ParentHash: head.Hash()})
	must(t, err)
	if st.DB.GetBalance(addressOf(alice)).IsZero() || st.DB.Exist(list[0].Address) {
		t.Error("accounts are mixed up")
	}
}

// A simulator that warms gives the same results with fewer requests.
func TestWarmedSimulatorAsksLess(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	contracts := w.deploy(countingContract, witnessContract)
	head := w.mine()
	txs := []exec.Tx{signed(w, contracts[0]), signed(w, contracts[1])}
	env := exec.Environment{Latest: true}
	bundle := &exec.Bundle{Elements: []exec.Element{{Tx: &txs[0]},
		{Bundle: &exec.Bundle{Elements: []exec.Element{{Tx: &txs[1]}}}}}}

	var counts []int
	var results []*exec.CallResult
	var bundles []*exec.BundleResult
	for _, warmed := range []bool{false, true} {
		tap := &tap{}
		states := w.states(tap)
		var simulator exec.Simulator = simulate.New(states, simulate.Options{})
		if warmed {
			simulator = simulate.Warmed{Simulator: simulator, States: states}
		}
		result, err := simulator.Call(t.Context(), txs, env)
		must(t, err)
		requests, _ := tap.seen()
		simulated, err := simulator.Simulate(t.Context(), bundle, env)
		must(t, err)
		counts, results, bundles = append(counts, requests), append(results, result), append(bundles, simulated)
	}
	paid := results[1].CoinbaseDiffWei
	if results[0].GasUsed != results[1].GasUsed || results[1].Parent.Hash() != head.Hash() ||
		!results[0].CoinbaseDiffWei.Eq(paid) {
		t.Errorf("warmed: %+v, not: %+v", results[1], results[0])
	}
	if !bundles[0].Success || bundles[0].GasUsed != bundles[1].GasUsed || !bundles[0].ProfitWei.Eq(bundles[1].ProfitWei) {
		t.Errorf("warmed: %+v, not: %+v", bundles[1], bundles[0])
	}
	if counts[1] >= counts[0] {
		t.Errorf("%d requests when warmed, %d when not", counts[1], counts[0])
	}
}

// The memory of a block that was not used for long is given up, and its state asked for again: it
// is bounded.
func TestMemoryIsOfTheNewestBlocks(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	tap := &tap{}
	states := w.states(tap, func(o *simulate.RemoteOptions) { o.Blocks = 2 })
	read := func(block *types.Block) (requests int) {
		st, err := states.At(t.Context(), exec.Environment{ParentHash: block.Hash()})
		must(t, err)
		tap.seen()
		if st.DB.GetBalance(addressOf(bob)).IsZero() {
			t.Fatal("nothing read")
		}
		requests, _ = tap.seen()
		return requests
	}
	a, b, c := w.mine(), w.mine(), w.mine()
	for i, step := range []struct {
		block *types.Block
		asks  int
	}{{a, 1}, {b, 1}, {a, 0}, {c, 1}, {a, 0}, {b, 1}, {b, 0}} {
		if got := read(step.block); got != step.asks {
			t.Errorf("step %d: %d requests, want %d", i, got, step.asks)
		}
	}
}

// A block of a few accounts' room reads more accounts than that, all right.
func TestMemoryIsBoundedInBytes(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	tap := &tap{}
	states := w.states(tap, func(o *simulate.RemoteOptions) { o.StateBytes = 1 })
	head := w.mine()
	for range 2 {
		st, err := states.At(t.Context(), exec.Environment{ParentHash: head.Hash()})
		must(t, err)
		tap.seen()
		for i := range int64(64) {
			st.DB.GetBalance(common.BigToAddress(big.NewInt(i)))
		}
		must(t, st.DB.Error())
		if requests, _ := tap.seen(); requests != 64 {
			t.Errorf("%d requests for 64 accounts without room to remember them", requests)
		}
	}
}
