package simulate

import (
	"context"
	"errors"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// payoutGas is how much gas a refund's payout is assumed to use for each recipient.
const payoutGas = 30_000

// maxDepth is how deep bundles may be nested.
const maxDepth = 5

// Simulate implements exec.Simulator (mev_simBundle, docs/spec.md, Simulation). Payouts of refunds
// are counted, not executed.
func (s *Simulator) Simulate(ctx context.Context, bundle *exec.Bundle,
	env exec.Environment) (*exec.BundleResult, error) {
	result := &exec.BundleResult{ProfitWei: new(wei), RefundableWei: new(wei), MevGasPriceWei: new(wei)}
	err := s.within(ctx, s.timeoutOf(env), env, pretended(env), func(b *block) error {
		result.Parent = b.Parent
		earned := &earnings{profitWei: new(big.Int), refundableWei: new(big.Int)}
		logs, err := (&bundleRun{block: b, result: result}).bundle(bundle, earned, 1)
		if errors.Is(err, errStopped) {
			return err
		}
		if err == nil && earned.profitWei.Sign() < 0 {
			err = errNegativeProfit
		}
		conclude(result, earned, logs, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// conclude fills in the result of a bundle. Negative amounts become zero.
func conclude(result *exec.BundleResult, earned *earnings, logs []exec.ElementLogs, err error) {
	result.ProfitWei, result.RefundableWei = orNone(earned.profitWei), orNone(earned.refundableWei)
	if err != nil {
		result.Error = err.Error()
		because := (*failure)(nil)
		result.Lasting = errors.As(err, &because) && because.lasting
		return
	}
	result.Success, result.Logs = true, logs
	result.MevGasPriceWei.Div(result.ProfitWei, uint256.NewInt(result.GasUsed)) // uint256 divides by zero to zero
}

func orNone(amount *big.Int) *wei {
	if amount.Sign() < 0 {
		return new(wei)
	}
	return uint256.MustFromBig(amount)
}

// failure is the reason why a bundle cannot be included. lasting: it holds in every later block,
// too.
type failure struct {
	reason  string
	lasting bool
}

// Error is the reason.
func (f *failure) Error() string { return f.reason }

// Failures other than a transaction that cannot be included.
var (
	errTxFailed       = &failure{reason: "tx failed"}
	errNegativeProfit = &failure{reason: "negative profit"}
	errInvalidBundle  = &failure{reason: "invalid bundle", lasting: true}
	errTooDeep        = &failure{reason: "max depth reached", lasting: true}
)

// earnings are what one level of a bundle earned. They are signed, because a transaction may take
// from the coinbase.
type earnings struct{ profitWei, refundableWei *big.Int }

// bundleRun collects the results of all levels of a bundle.
type bundleRun struct {
	*block
	result *exec.BundleResult
}

// bundle runs the elements of a bundle at a depth, and then subtracts its payouts.
func (r *bundleRun) bundle(bundle *exec.Bundle, earned *earnings, depth int) ([]exec.ElementLogs, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	refunded := make([]bool, len(bundle.Elements))
	for _, refund := range bundle.Refunds {
		if refund.Element < 0 || refund.Element >= len(refunded) || refund.Percent < 0 || refund.Percent > 100 {
			return nil, errInvalidBundle
		}
		refunded[refund.Element] = true
	}
	logs := make([]exec.ElementLogs, len(bundle.Elements))
	for i, element := range bundle.Elements {
		before := r.DB.GetBalance(r.header.Coinbase).ToBig()
		var err error
		if logs[i], err = r.element(element, depth); err != nil {
			return nil, err
		}
		delta := r.DB.GetBalance(r.header.Coinbase).ToBig()
		delta.Sub(delta, before)
		earned.profitWei.Add(earned.profitWei, delta)
		if counts(bundle, refunded, i) {
			earned.refundableWei.Add(earned.refundableWei, delta)
		}
	}
	return logs, r.payOut(bundle, earned)
}

// counts says whether refunds are counted from what an element earned.
func counts(bundle *exec.Bundle, refunded []bool, i int) bool {
	if bundle.PaidBy != nil {
		return slices.Contains(bundle.PaidBy, i)
	}
	return !refunded[i]
}

// element runs a transaction or an inner bundle. The outer bundle counts what the coinbase gained,
// so the inner one's own earnings are not passed on.
func (r *bundleRun) element(element exec.Element, depth int) (logs exec.ElementLogs, err error) {
	switch {
	case element.Tx != nil:
		logs.Tx, err = r.tx(element.Tx)
	case element.Bundle != nil:
		logs.Bundle, err = r.bundle(element.Bundle, &earnings{profitWei: new(big.Int), refundableWei: new(big.Int)}, depth+1)
	default:
		err = errInvalidBundle
	}
	return logs, err
}

// payOut subtracts a bundle's refunds from its profit. Each refund must be worth the gas of its
// payout. A refund that is counted from single transactions (PaidBy) is an exception: if it is not
// worth its gas, it is paid later, outside of the block.
func (r *bundleRun) payOut(bundle *exec.Bundle, earned *earnings) error {
	for _, refund := range bundle.Refunds {
		recipients := 1
		if inner := bundle.Elements[refund.Element].Bundle; inner != nil {
			recipients = max(1, inner.Recipients)
		}
		gas := payoutGas * uint64(recipients)
		payout := new(big.Int).Mul(earned.refundableWei, big.NewInt(int64(refund.Percent)))
		payout.Quo(payout, big.NewInt(100))
		cost := new(big.Int).Mul(r.header.BaseFee, new(big.Int).SetUint64(gas))
		switch {
		case cost.Cmp(payout) <= 0:
			r.result.GasUsed += gas
		case bundle.PaidBy == nil:
			r.result.GasUsed += gas
			return errNegativeProfit
		}
		earned.profitWei.Sub(earned.profitWei, payout)
	}
	return nil
}

// tx runs a transaction of the bundle.
func (r *bundleRun) tx(tx *exec.Tx) ([]*types.Log, error) {
	did, err := r.apply(tx)
	switch {
	case errors.Is(err, errStopped):
		return nil, err
	case err != nil:
		r.result.FailedTx = tx.Hash()
		return nil, &failure{reason: err.Error(), lasting: r.lasting(tx, err)}
	}
	r.result.Txs = append(r.result.Txs, *did)
	if did.Err != nil {
		r.result.ExecErr, r.result.Revert = did.Err, did.Return
		if !tx.CanRevert {
			r.result.FailedTx = tx.Hash()
			return nil, errTxFailed
		}
	}
	r.result.GasUsed += did.GasUsed
	return did.Logs, nil
}
