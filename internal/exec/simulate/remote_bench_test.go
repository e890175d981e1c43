package simulate_test

import (
	"context"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// A bundle of eight calls to contracts is simulated on the same chain in this process, on a node's
// state that is known, on one that is not, and on one that is fetched ahead: how much longer that
// takes (×local), and how many requests it makes (on a loopback each costs a tenth of a
// millisecond; elsewhere they are what counts).
func BenchmarkSimulation(b *testing.B) {
	w := newDevnet(b, eth.Fulu)
	var txs []exec.Tx
	for _, contract := range w.deploy(countingContract, countingContract, countingContract, countingContract,
		witnessContract, witnessContract, countingContract, countingContract) {
		txs = append(txs, signed(w, contract))
	}
	tap := &tap{}
	fresh := func() *simulate.RemoteStates {
		states := w.states(tap)
		// header and config
		if _, err := states.At(b.Context(), exec.Environment{ParentHash: w.chain.CurrentBlock().Hash()}); err != nil {
			b.Fatal(err)
		}
		return states
	}
	env := exec.Environment{ParentHash: w.chain.CurrentBlock().Hash()}
	local := simulate.New(chain.NewStates(w.chain), simulate.Options{})
	known := simulate.New(w.states(nil), simulate.Options{})
	run := func(simulator exec.Simulator, took *time.Duration) {
		begin := time.Now()
		_, err := simulator.Call(context.Background(), txs, env)
		*took += time.Since(begin)
		must(b, err)
	}
	var none, inProcess, remembered, unknown, warmed time.Duration
	var asked, askedWarmed int
	run(known, &none)
	for b.Loop() {
		run(local, &inProcess)
		run(known, &remembered)
		cold := fresh()
		tap.seen()
		run(simulate.New(cold, simulate.Options{}), &unknown)
		requests, _ := tap.seen()
		asked += requests
		cold = fresh()
		tap.seen()
		run(simulate.Warmed{Simulator: simulate.New(cold, simulate.Options{}), States: cold}, &warmed)
		requests, _ = tap.seen()
		askedWarmed += requests
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(remembered)/float64(inProcess), "known×local")
	b.ReportMetric(float64(unknown)/float64(inProcess), "unknown×local")
	b.ReportMetric(float64(warmed)/float64(inProcess), "warmed×local")
	b.ReportMetric(float64(asked)/float64(b.N), "requests")
	b.ReportMetric(float64(askedWarmed)/float64(b.N), "requests-warmed")
}
