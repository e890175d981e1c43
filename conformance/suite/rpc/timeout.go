package rpc

import (
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// burnGas is about as much as one transaction may use (EIP-7825).
	burnGas = 16_000_000
	// mostBurned is how many such transactions a bundle may have.
	mostBurned = 50
)

// patienceForSlow is how long answers to simulations may take that are slow on purpose.
const patienceForSlow = 40 * time.Second

// burningBundle makes the parameters of a bundle whose transactions compute until their gas is used
// up.
func burningBundle(t *suite.T, transactions int) object {
	var list []object
	for range transactions {
		w := newWallet(t)
		list = append(list, object{"tx": encodeTx(t, w.tx(nil, 0, burnGas, common.FromHex(codeBurn))), "canRevert": true})
	}
	return change(change(newestParams(t), noRefunds), object{"body": list})
}

// simulateFor says whether a bundle succeeds, and how long the answer took. timeoutSeconds of 0
// gives none.
func simulateFor(t *suite.T, params object, timeoutSeconds int) (success bool, took time.Duration) {
	options := object{"gasLimit": 2_000_000_000}
	if timeoutSeconds > 0 {
		options["timeout"] = timeoutSeconds
	}
	began := time.Now() // a simulation takes processor time, which no other clock measures
	answer, err := probe.NewClient(t.Target.RPC.URL, nil, patienceForSlow).Call(t, key(t),
		probe.Call{Method: "mev_simBundle", Params: []any{params, options}, ID: 1})
	took = time.Since(began)
	t.Check(err == nil, "an answer within "+patienceForSlow.String(), err)
	var m simulated
	return !answer.Refused() && answer.Result(&m) == nil && m.success(t), took
}

// checkTimeout fails the spec unless a simulation is ended after the wanted time. A bundle that
// succeeds sooner was too small to show it, so a larger one follows. The clause is not run if the
// target is too fast for the largest.
func checkTimeout(t *suite.T, wanted time.Duration, timeoutSeconds int) {
	const sample, slack = 4, 1500 * time.Millisecond
	_, took := simulateFor(t, burningBundle(t, sample), timeoutSeconds)
	for count := 0; count < mostBurned; {
		count = min(max(int(sample*wanted*3/2/max(took, time.Millisecond)), 2*count), mostBurned)
		success, took := simulateFor(t, burningBundle(t, count), timeoutSeconds)
		if success && took < wanted+slack {
			continue
		}
		t.Check(!success, fmt.Sprintf("no success of a simulation that takes longer than %s", wanted),
			fmt.Sprint("success after ", took))
		t.Check(took > wanted*4/5 && took < wanted+slack, fmt.Sprintf("an answer after about %s", wanted), took)
		return
	}
	t.NotRun("the target simulates %d gas in less than %s: no bundle takes longer", mostBurned*burnGas, wanted+slack)
}

// describeTimeouts adds specs about when simulations are ended.
func describeTimeouts(s *suite.Set) {
	s.It("RPC-SIM-26", "ends a simulation at the timeout that was given", func(t *suite.T) {
		checkTimeout(t, time.Second, 1)
	})
	s.It("RPC-SIM-27", "ends a simulation after five seconds", func(t *suite.T) { checkTimeout(t, 5*time.Second, 0) })
}
