// Package simulate runs bundles on the state of a block, which it never changes, and counts what
// they pay. It also runs whole blocks of the chain again, to tell what each of their transactions
// paid.
//
//	            ┌─ States ─┐                                    ┌─ Call ─────▶ every transaction's payment
//	Environment ┤  parent  ├─▶ the pretended block ─▶ one by one ┼─ Simulate ─▶ profit less payouts of refunds
//	            └──────────┘   (system calls ran)               └─ Replay ───▶ what a block really paid
//
// Where the state is, in this process or behind a node's JSON-RPC, is the affair of whoever
// implements States. Turns says who may simulate when.
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
	// Parent is the block. Nobody changes it.
	Parent *types.Header
	// DB is a state of its own for this simulation; it is changed and thrown away, never committed.
	// Reads that fail leave its Error.
	DB *state.StateDB
	// Config has the fork schedule.
	Config *params.ChainConfig
	// Hash answers BLOCKHASH: it knows the parent and its ancestors, and is zero for what it does not
	// know.
	Hash func(number uint64) common.Hash
}

// States opens states. It is asked once for each simulation, from many goroutines.
type States interface {
	// At opens the state after the parent that the environment names. Reads may use the context for as
	// long as the simulation lasts. Errors wrap exec.ErrUnknownBlock when there is no such block or
	// its state is gone, exec.ErrNode when nobody can tell.
	At(ctx context.Context, env exec.Environment) (*State, error)
}

// Options bound simulations.
type Options struct {
	// Timeout is what a simulation may take if its environment does not say; 0 is 5 s.
	Timeout time.Duration
	// MaxTxGas is the most that one transaction may ask for; 0 is 60,000,000. Long loops can be
	// interrupted, but not a precompile or a tree of calls, so this, too, bounds what a simulation may
	// take, whatever rules and prices its environment pretends.
	MaxTxGas uint64
}

// Simulator implements exec.Simulator and exec.Replayer.
type Simulator struct {
	states   States
	timeout  time.Duration
	maxTxGas uint64
	// jumps remembers where contracts may jump to. It is right for ever, since it goes by the hash of
	// the code.
	jumps vm.JumpDestCache
	// parent is what most simulations begin with.
	parent parentHash
}

var (
	_ exec.Simulator = (*Simulator)(nil)
	_ exec.Replayer  = (*Simulator)(nil)
)

// New returns a simulator on states. It starts nothing; who bounds how many simulations run at once
// is its caller (Turns).
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

// readError is why the state could not be read, if it could not: then what was computed on it means
// nothing.
func readError(db *state.StateDB) error {
	err := db.Error()
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrUnknownBlock) || errors.Is(err, exec.ErrNode) {
		return fmt.Errorf("read state: %w", err)
	}
	if missing := (*trie.MissingNodeError)(nil); errors.As(err, &missing) { // pruned under our hands
		return fmt.Errorf("read state: %w: %w", exec.ErrUnknownBlock, err)
	}
	return fmt.Errorf("read state: %w: %w", exec.ErrNode, err)
}
