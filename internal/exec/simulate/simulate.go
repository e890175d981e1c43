// Package simulate runs bundles on the state of a block, which it never changes, and counts what
// they pay. It also replays whole blocks of the chain, to find what each of their transactions
// paid.
//
//	            ┌─ States ─┐                                    ┌─ Call ─────▶ every transaction's payment
//	Environment ┤  parent  ├─▶ the pretended block ─▶ one by one ┼─ Simulate ─▶ profit less payouts of refunds
//	            └──────────┘   (system calls ran)               └─ Replay ───▶ what a block really paid
//
// Implementations of States decide where the state is: in this process, or behind the JSON-RPC of
// any standard execution node. RemoteStates (remote*.go) is the second: what a simulation reads is
// fetched at its first read, by block hash, and cached. Scheduler decides which simulations run
// when many wait.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// wei is an amount of money.
type wei = uint256.Int

// State is the state after a block, for one simulation.
type State struct {
	// Parent is that block. It must not be changed.
	Parent *types.Header
	// DB belongs to this simulation, which changes it and never commits it. DB.Error has the first
	// read that failed.
	DB *state.StateDB
	// Config has the fork schedule.
	Config *params.ChainConfig
	// Hash answers BLOCKHASH for the parent and its ancestors; it is zero for unknown blocks.
	Hash func(number uint64) common.Hash
}

// States opens states. Each simulation calls At once; calls come from many goroutines.
type States interface {
	// At opens the state after the parent that the environment names. Reads may use the context for
	// as long as the simulation lasts. Errors wrap exec.ErrUnknownBlock if there is no such block
	// or its state is gone, and exec.ErrNode if no node can tell.
	At(ctx context.Context, env exec.Environment) (*State, error)
}

// Options bound single simulations.
type Options struct {
	// Timeout bounds a simulation whose environment has no timeout; 0 is 5 s.
	Timeout time.Duration
	// MaxTxGas is the highest gas limit of one transaction; 0 is 60,000,000. A timeout interrupts
	// loops but neither a precompile nor a tree of calls. So this limit, too, bounds the time of a
	// simulation, whatever prices its environment sets.
	MaxTxGas uint64
}

// Simulator implements exec.Simulator and exec.Replayer.
type Simulator struct {
	states   States
	timeout  time.Duration
	maxTxGas uint64
	// jumps caches the valid jump destinations of contracts by the hash of their code, so entries
	// never become wrong.
	jumps vm.JumpDestCache
	// parent caches the hash of the parent of most simulations.
	parent parentHash
}

var (
	_ exec.Simulator = (*Simulator)(nil)
	_ exec.Replayer  = (*Simulator)(nil)
)

// New returns a simulator on states. It starts no goroutine. The caller bounds how many simulations
// run at once (Scheduler).
func New(states States, options Options) *Simulator {
	s := &Simulator{states: states, timeout: options.Timeout, maxTxGas: options.MaxTxGas, jumps: core.NewJumpDestCache()}
	if s.timeout <= 0 {
		s.timeout = 5 * time.Second
	}
	if s.maxTxGas == 0 {
		s.maxTxGas = 60_000_000
	}
	return s
}

// readError is the error of a read of the state that failed, or nil. After such an error the
// results of the simulation mean nothing.
func readError(db *state.StateDB) error {
	err := db.Error()
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrUnknownBlock) || errors.Is(err, exec.ErrNode) {
		return fmt.Errorf("read state: %w", err)
	}
	if missing := (*trie.MissingNodeError)(nil); errors.As(err, &missing) { // the state was pruned meanwhile
		return fmt.Errorf("read state: %w: %w", exec.ErrUnknownBlock, err)
	}
	return fmt.Errorf("read state: %w: %w", exec.ErrNode, err)
}
