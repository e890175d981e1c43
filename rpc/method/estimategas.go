package method

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// estimateParams is params[0] of eth_estimateGasBundle.
type estimateParams struct {
	Txs              []callParams  `json:"txs"`
	BlockNumber      bundle.Number `json:"blockNumber"`
	StateBlockNumber bundle.Block  `json:"stateBlockNumber"`
	Timestamp        bundle.Number `json:"timestamp"`
}

// callParams is an unsigned transaction. Its data may also be called input.
type callParams struct {
	From  *bundle.Address  `json:"from"`
	To    *bundle.Address  `json:"to"`
	Gas   bundle.Number    `json:"gas"`
	Value bundle.BigNumber `json:"value"`
	Data  bundle.HexBytes  `json:"data"`
	Input *bundle.HexBytes `json:"input"`
}

// NoEffect implements bundle.Tolerant.
func (callParams) NoEffect() []string { return bundle.InGasCall.Names() }

// estimateGas is eth_estimateGasBundle.
func (m *Methods) estimateGas() Method {
	return Method{
		Name:    "eth_estimateGasBundle",
		Summary: "Say how much gas unsigned transactions would use, one after the other.",
		About:   "Neither nonces nor fees are looked at. A call that reverts has used what it used.",
		Params: []Param{required("bundle", object(
			needs("txs", listOf(object(
				may("from", address, "sender"),
				may("to", address, "recipient; none is a creation"),
				may("gas", anyNumber, "gas limit; by default the most that a transaction may have"),
				may("value", anyNumber, "in wei"),
				may("data", hexBytes, "also called input"),
			)), "calls"),
			may("blockNumber", anyNumber, "block that is simulated"),
			may("stateBlockNumber", block, "block whose state it begins with; latest by default"),
			may("timestamp", anyNumber, "time of the block"),
		))},
		Example: `[{"txs":[{"from":"'$ADDRESS'","to":"0x000000000000000000000000000000000000dEaD","value":"0x1"}],"blockNumber":"'$NEXT'","stateBlockNumber":"latest"}]`,
		Result: object(needs("results",
			listOf(object(needs("gasUsed", integer, "by this call"), may("error", text, "why it failed"))),
			"one for each call")),
		Refusals: append([]rpc.Refusal{rpc.InvalidParams, rpc.BundleEmpty, rpc.BundleTooManyTxs, rpc.BundleTooLarge},
			simulationRefusals...),
		Beyond: true,
		Do:     m.doEstimateGas,
	}
}

type gasEstimate struct {
	GasUsed uint64 `json:"gasUsed"`
	Error   string `json:"error,omitempty"`
}

func (m *Methods) doEstimateGas(ctx context.Context, call *Call) (any, error) {
	var p estimateParams
	if err := bundle.ReadPositional(call.Params, &p); err != nil {
		return nil, err
	}
	txs, err := m.unsigned(p.Txs)
	if err != nil {
		return nil, err
	}
	env := exec.Environment{
		ParentHash: p.StateBlockNumber.Hash, ParentNumber: p.StateBlockNumber.Number, Latest: p.StateBlockNumber.Latest ||
			!p.StateBlockNumber.Set,
		Number: p.BlockNumber.Value, Timestamp: p.Timestamp.Value,
	}
	var got *exec.CallResult
	err = m.simulated(ctx, call, "eth_estimateGasBundle", func(ctx context.Context) (uint64, bool, error) {
		var err error
		if got, err = m.Simulator.Call(ctx, txs, env); err != nil {
			return 0, false, err
		}
		return got.GasUsed, true, nil
	})
	if err != nil {
		return nil, err
	}
	estimates := make([]gasEstimate, len(got.Results))
	for i, r := range got.Results {
		estimates[i] = gasEstimate{GasUsed: r.GasUsed}
		if r.Err != nil {
			estimates[i].Error = r.Err.Error()
		}
	}
	return struct {
		Results []gasEstimate `json:"results"`
	}{estimates}, nil
}

// callGas is the gas limit of a call without one: the most that a transaction may have from osaka
// on (EIP-7825).
const callGas = 1 << 24

// unsigned converts calls to unsigned transactions.
func (m *Methods) unsigned(calls []callParams) ([]exec.Tx, error) {
	if len(calls) == 0 {
		return nil, rpc.BundleEmpty.Plain()
	}
	if len(calls) > m.Limits.MaxTxs {
		return nil, rpc.BundleTooManyTxs.With("%d, at most %d", len(calls), m.Limits.MaxTxs)
	}
	txs, size := make([]exec.Tx, len(calls)), 0
	for i, c := range calls {
		data := c.Data
		if c.Input != nil {
			data = *c.Input
		}
		if size += data.Len(); size > m.Limits.MaxBytes {
			return nil, rpc.BundleTooLarge.With("more than %d bytes", m.Limits.MaxBytes)
		}
		raw, err := data.Bytes()
		if err != nil {
			return nil, rpc.InvalidParams.With("params[0].txs[%d].data: %v", i, err)
		}
		txs[i] = c.tx(raw)
	}
	return txs, nil
}

func (c callParams) tx(data []byte) exec.Tx {
	legacy := &types.LegacyTx{To: (*common.Address)(c.To), Gas: c.Gas.Value, Data: data, GasPrice: new(big.Int),
		Value: new(big.Int)}
	if !c.Gas.Set {
		legacy.Gas = callGas
	}
	if c.Value.Value != nil {
		legacy.Value = c.Value.Value.ToBig()
	}
	tx := exec.Tx{Transaction: types.NewTx(legacy), Unsigned: true}
	if c.From != nil {
		tx.From = common.Address(*c.From)
	}
	return tx
}
