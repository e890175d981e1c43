package app

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"

	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
)

// simulation has the parts that simulate orders and calls, and execute blocks again.
type simulation struct {
	exec.Simulator
	replayer exec.Replayer
	chain    *bundle.Chain
	senders  bundle.Senders
}

// sendersKept is for how many transactions the sender is remembered: 20 MB at most.
const sendersKept = 100_000

func newSimulation(cfg Config) simulation {
	execution, signer := simulate.New(cfg.States, simulate.Options{}), types.LatestSigner(cfg.ChainConfig)
	s := simulation{
		Simulator: execution, replayer: execution,
		chain: bundle.NewChain(signer), senders: lifecycle.NewSenders(signer, sendersKept),
	}
	if cfg.FetchAhead != nil {
		s.Simulator = cfg.FetchAhead(execution)
	}
	return s
}

// rankedScheduler gives simulations of signers with a reputation precedence over others that wait.
type rankedScheduler struct {
	turns      *simulate.Scheduler
	reputation *ledger.Reputation
}

// Do implements method.Scheduler.
func (t rankedScheduler) Do(ctx context.Context, signer common.Address, source string,
	run func(context.Context)) error {
	err := t.turns.Do(ctx, exec.Sender{Signer: signer, Source: source, Known: t.reputation.High(signer)}, run)
	if errors.Is(err, simulate.ErrBusy) {
		return rpc.SimulationBusy.Plain()
	}
	return err
}

// classOf is the class of a signer's orders in the pool.
func (a *App) classOf(signer common.Address) int {
	if a.reputation.High(signer) {
		return 1
	}
	return 0
}
