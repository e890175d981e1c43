package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// endlessChain is one in which a transaction may have so much gas that only time ends it.
func endlessChain(t *testing.T, timeout time.Duration) (*testChain, exec.Environment, []exec.Tx) {
	r := openChain(t, eth.Electra, simulate.Options{MaxTxGas: math.MaxUint64, Timeout: timeout})
	env := latest
	env.GasLimit, env.BaseFeeWei = math.MaxUint64, new(uint256.Int)
	free := func(d *types.DynamicFeeTx) { d.GasTipCap, d.GasFeeCap = new(big.Int), new(big.Int) }
	return r, env, []exec.Tx{r.callWith(user, looper, 0, 1<<60, free)}
}

// The time is over inside a transaction, whether the request or the service set it.
func TestTimeoutInsideATransaction(t *testing.T) {
	for name, row := range map[string]struct{ service, asked time.Duration }{
		"asked for": {time.Hour, time.Millisecond}, "the service's": {time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, env, txs := endlessChain(t, row.service)
			env.Timeout = row.asked
			if result, err := r.Call(t.Context(), txs, env); result != nil || !errors.Is(err, exec.ErrTimeout) {
				t.Errorf("call: %v", err)
			}
			if result, err := r.Simulate(t.Context(), bundleOf(droppable(txs[0])), env); result != nil ||
				!errors.Is(err, exec.ErrTimeout) {
				t.Errorf("bundle: %v", err)
			}
		})
	}
}

// A caller that goes away ends its simulation, and hears its own reason.
func TestCallerGoesAway(t *testing.T) {
	r, env, txs := endlessChain(t, time.Hour)
	before, stop := context.WithCancel(t.Context())
	stop()
	during, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for ctx, want := range map[context.Context]error{before: context.Canceled, during: context.DeadlineExceeded} {
		if _, err := r.Call(ctx, txs, env); !errors.Is(err, want) || errors.Is(err, exec.ErrTimeout) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// brokenStates are states whose reader fails at one account.
type brokenStates struct {
	simulate.States
	at  common.Address
	err error
}

func (b brokenStates) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	st, err := b.States.At(ctx, env)
	if err != nil {
		return nil, err
	}
	st.DB, err = state.NewWithReader(st.Parent.Root, st.DB.Database(), brokenReader{st.DB.Reader(), b})
	return st, err
}

type brokenReader struct {
	state.Reader
	broken brokenStates
}

func (r brokenReader) Account(address common.Address) (*types.StateAccount, error) {
	if address == r.broken.at {
		return nil, fmt.Errorf("read account: %w", r.broken.err)
	}
	return r.Reader.Account(address)
}

// What was computed on a state that could not be read is no answer: an account that nobody could
// read would pass for an empty one.
func TestUnreadableState(t *testing.T) {
	r := openChain(t, eth.Fulu, simulate.Options{})
	tx := r.call(user, counter, 0, 60_000)
	block := r.grow(t, tx)
	for name, row := range map[string]struct{ cause, want error }{
		"the node is gone":       {exec.ErrNode, exec.ErrNode},
		"the state is gone":      {exec.ErrUnknownBlock, exec.ErrUnknownBlock},
		"something that we miss": {errors.New("broken pipe"), exec.ErrNode},
	} {
		for who, address := range map[string]common.Address{"sender": addressOf(user), "contract": counter,
			"coinbase": coinbase} {
			t.Run(name+", "+who, func(t *testing.T) {
				s := simulate.New(brokenStates{r.states, address, row.cause}, simulate.Options{})
				env := exec.Environment{ParentNumber: 0}
				if result, err := s.Call(t.Context(), []exec.Tx{tx}, env); result != nil || !errors.Is(err, row.want) {
					t.Errorf("call: %v", err)
				}
				if result, err := s.Simulate(t.Context(), bundleOf(droppable(tx)), env); result != nil ||
					!errors.Is(err, row.want) {
					t.Errorf("bundle: %v", err)
				}
				if landing, err := s.Replay(t.Context(), block); landing != nil || !errors.Is(err, row.want) {
					t.Errorf("replay: %v", err)
				}
			})
		}
	}
}
