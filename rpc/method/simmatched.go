package method

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// matchedFailed is all that is said about a matched bundle that cannot be included.
const matchedFailed = "it could not be included behind the order that it follows"

// simMatched is mev_simBundle for a bundle that follows a hash, in literal mode. The answer says
// only whether it could be included in the next block. Gas, profit, logs and errors could reveal
// what the followed order's sender does not share, so they stay zero. The signer is charged the gas
// limits, whatever gas was used.
func (m *Methods) simMatched(ctx context.Context, call *Call) (any, error) {
	order, err := bundle.ReadSimMatched(call.Params, m.intake(call))
	if err != nil {
		return nil, err
	}
	if order, err = m.Prober.Probe(order); err != nil {
		return nil, err
	}
	whole, err := bundle.ToExec(&order.Bundle, m.Senders)
	if err != nil {
		return nil, err
	}
	result := simResult{StateBlock: hexutil.Uint64(m.Submitter.Head().Number), MevGasPrice: hexOf(nil), Profit: hexOf(nil),
		RefundableValue: hexOf(nil)}
	err = m.simulated(ctx, call, "mev_simBundle", func(ctx context.Context) (uint64, bool, error) {
		got, err := m.Simulator.Simulate(ctx, whole, exec.Environment{Latest: true})
		switch {
		case errors.Is(err, exec.ErrTimeout): // it takes too long, which counts as a failure
		case err != nil:
			return 0, false, err
		default:
			result.Success = got.Success
		}
		return bundle.GasLimits(whole.Elements[1:]), result.Success, nil
	})
	if err != nil {
		return nil, err
	}
	if !result.Success {
		result.Error = matchedFailed
	}
	return result, nil
}
