package method

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// simResult answers mev_simBundle. Amounts are hex. All are present even without success, because
// clients read them without checking.
type simResult struct {
	Success         bool           `json:"success"`
	Error           string         `json:"error,omitempty"`
	StateBlock      hexutil.Uint64 `json:"stateBlock"`
	MevGasPrice     *hexutil.U256  `json:"mevGasPrice"`
	Profit          *hexutil.U256  `json:"profit"`
	RefundableValue *hexutil.U256  `json:"refundableValue"`
	GasUsed         hexutil.Uint64 `json:"gasUsed"`
	Logs            []elementLogs  `json:"logs,omitempty"`
	ExecError       string         `json:"execError,omitempty"`
	Revert          hexutil.Bytes  `json:"revert,omitempty"`
}

// elementLogs are the logs of one element of the body.
type elementLogs struct {
	TxLogs     []*types.Log  `json:"txLogs,omitempty"`
	BundleLogs []elementLogs `json:"bundleLogs,omitempty"`
}

// simBundle is mev_simBundle.
func (m *Methods) simBundle() Method {
	options := object(
		may("parentBlock", block, "block whose state it begins with; latest by default"),
		may("blockNumber", anyNumber, "number of the block; by default the parent's and one"),
		may("number", anyNumber, "the same as blockNumber"),
		may("coinbase", address, "fee recipient of the block; by default the parent's"),
		may("timestamp", anyNumber, "time of the block; by default the parent's and 12 s"),
		may("time", anyNumber, "the same as timestamp"),
		may("gasLimit", anyNumber, "of the block; by default the parent's"),
		may("baseFee", anyNumber, "of the block, in wei; by default what follows from the parent"),
		may("timeout", anyNumber, "seconds up to 30, milliseconds above; 5 s by default"),
	)
	return Method{
		Name:    "mev_simBundle",
		Summary: "Say what a bundle would earn, after its refunds.",
		About: "A bundle that cannot be included is a result with `success` false and the reason in `error`. Options may " +
			"stand in `simOptions` or after " +
			"the bundle; the latter win. A bundle that begins with a hash cannot be simulated: put the transaction in its " +
			"place once it is known.",
		Params: []Param{required("bundle", shareBundle(may("simOptions", options, "the block to pretend"))),
			optional("simOptions", options)},
		Example: `[{"version":"v0.1","inclusion":{"block":"'$NEXT'"},"body":[{"tx":"'$TX1'","canRevert":false},{"tx":"'$TX2'","canRevert":false}]},{"parentBlock":"latest"}]`,
		Result: object(
			needs("success", boolean, "it could be included"),
			may("error", text, "why not"),
			needs("stateBlock", quantity, "block whose state it began with"),
			needs("mevGasPrice", quantity, "profit for each gas used, in wei"),
			needs("profit", quantity, "what the block's fee recipient keeps, in wei"),
			needs("refundableValue", quantity, "what refunds are counted from, in wei"),
			needs("gasUsed", quantity, "with 30,000 for each payout of a refund"),
			may("logs", listOf(object(
				may("txLogs", listOf(&Schema{Type: "object", Title: "log"}), "of a transaction"),
				may("bundleLogs", listOf(&Schema{Type: "object"}), "of a bundle, in this form"),
			)), "one for each element of the body"),
			may("execError", text, "how the last transaction that failed did so"),
			may("revert", hexBytes, "what it reverted with"),
		),
		Refusals: append([]rpc.Refusal{
			rpc.InvalidParams, rpc.BundleTooDeep, rpc.BundleVersion, rpc.InvalidInclusion, rpc.InvalidBodySize, rpc.InvalidBody,
			rpc.BundleUndecodable,
			rpc.InvalidRevertMode, rpc.InvalidConstraints, rpc.InvalidPrivacy, rpc.UnmatchedBundle,
		}, simulationRefusals...),
		Do: m.doSimBundle,
	}
}

func (m *Methods) doSimBundle(ctx context.Context, call *Call) (any, error) {
	request, err := bundle.ReadSimBundle(call.Params, m.intake(call))
	if refused := (*rpc.Refused)(nil); m.Prober != nil && errors.As(err, &refused) &&
		refused.ID == rpc.UnmatchedBundle.ID {
		return m.simMatched(ctx, call)
	}
	if err != nil {
		return nil, err
	}
	var got *exec.BundleResult
	err = m.simulated(ctx, call, "mev_simBundle", func(ctx context.Context) (uint64, bool, error) {
		var err error
		if got, err = m.Simulator.Simulate(ctx, request.Bundle, request.Environment); err != nil {
			return 0, false, err
		}
		return got.GasUsed, got.Success, nil
	})
	if err != nil {
		return nil, err
	}
	return simResultOf(got, request), nil
}

func simResultOf(got *exec.BundleResult, request *bundle.Simulation) simResult {
	result := simResult{
		Success: got.Success, Error: got.Error, StateBlock: hexutil.Uint64(got.Parent.Number.Uint64()),
		GasUsed:     hexutil.Uint64(got.GasUsed),
		MevGasPrice: hexOf(got.MevGasPriceWei), Profit: hexOf(got.ProfitWei), RefundableValue: hexOf(got.RefundableWei),
		Revert: got.Revert,
	}
	if got.ExecErr != nil {
		result.ExecError = got.ExecErr.Error()
	}
	number := request.Environment.Number
	if number == 0 {
		number = got.Parent.Number.Uint64() + 1
	}
	if w := request.Window; number < w.FirstBlock || number > w.LastBlock {
		result.Success, result.Error = false, rpc.InvalidInclusion.Short
	}
	if result.Success {
		result.Logs = logsOf(got.Logs)
	}
	return result
}

func hexOf(amount *uint256.Int) *hexutil.U256 {
	if amount == nil {
		return new(hexutil.U256)
	}
	return (*hexutil.U256)(amount)
}

func logsOf(list []exec.ElementLogs) []elementLogs {
	logs := make([]elementLogs, len(list))
	for i, l := range list {
		logs[i] = elementLogs{TxLogs: l.Tx, BundleLogs: logsOf(l.Bundle)}
	}
	return logs
}
