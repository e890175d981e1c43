package method

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// callResult answers eth_callBundle. Amounts are decimal text.
type callResult struct {
	BundleGasPrice    string      `json:"bundleGasPrice"`
	BundleHash        common.Hash `json:"bundleHash"`
	CoinbaseDiff      string      `json:"coinbaseDiff"`
	EthSentToCoinbase string      `json:"ethSentToCoinbase"`
	GasFees           string      `json:"gasFees"`
	Results           []txResult  `json:"results"`
	StateBlockNumber  uint64      `json:"stateBlockNumber"`
	TotalGasUsed      uint64      `json:"totalGasUsed"`
	TotalBlobGasUsed  uint64      `json:"totalBlobGasUsed,omitempty"`
}

// txResult is one transaction. It has a value only if it succeeded; otherwise it has error and
// perhaps revert. Clients treat the mere presence of error or revert as failure.
type txResult struct {
	BlobGasUsed       uint64         `json:"blobGasUsed,omitempty"`
	CoinbaseDiff      string         `json:"coinbaseDiff"`
	EthSentToCoinbase string         `json:"ethSentToCoinbase"`
	FromAddress       string         `json:"fromAddress"`
	GasFees           string         `json:"gasFees"`
	GasPrice          string         `json:"gasPrice"`
	GasUsed           uint64         `json:"gasUsed"`
	ToAddress         *string        `json:"toAddress"` // null for a creation
	TxHash            common.Hash    `json:"txHash"`
	Value             *hexutil.Bytes `json:"value,omitempty"`
	Error             string         `json:"error,omitempty"`
	Revert            *hexutil.Bytes `json:"revert,omitempty"`
}

// callOverrides are the overrides of eth_callBundle that are not in the interface description.
var callOverrides = []field{
	may("coinbase", address, "fee recipient of the block"),
	may("timeout", anyNumber, "milliseconds, 5000 by default, at most 30000"),
	may("gasLimit", anyNumber, "of the block"),
	may("difficulty", anyNumber, "what PREVRANDAO answers"),
	may("baseFee", anyNumber, "of the block, in wei"),
	may("excessBlobGas", anyNumber, "of the block"),
	may("transactionIndex", anyNumber, "only 0: bundles are simulated at the top of a block"),
}

// callBundle is eth_callBundle.
func (m *Methods) callBundle() Method {
	return Method{
		Name:    "eth_callBundle",
		Summary: "Say what transactions would do and pay, one after the other, at the top of a block.",
		About: "Nothing is sent to anybody. A transaction that reverts is a result with `error`; one that could not be " +
			"included at all (nonce, balance, " +
			"fee) ends the simulation with the message `err: …; txhash 0x…`. By default the block's time is its parent's and " +
			"12 s, its base fee what follows " +
			"from the parent, and the rest the parent's.",
		Params: []Param{required("bundle", object(append([]field{
			needs("txs", listOf(hexBytes), "signed transactions"),
			needs("blockNumber", anyNumber, "block that is simulated"),
			may("stateBlockNumber", block, "block whose state it begins with; latest by default"),
			may("timestamp", anyNumber, "time of the block, in seconds since 1970"),
		}, callOverrides...)...))},
		Example: `[{"txs":["'$TX1'","'$TX2'"],"blockNumber":"'$NEXT'","stateBlockNumber":"latest"}]`,
		Result: object(
			needs("bundleGasPrice", decimal, "coinbaseDiff for each gas used"),
			needs("bundleHash", hash, "as eth_sendBundle answers it"),
			needs("coinbaseDiff", decimal, "what the block's fee recipient gained, in wei: gasFees and ethSentToCoinbase"),
			needs("ethSentToCoinbase", decimal, "what was paid beside fees"),
			needs("gasFees", decimal, "what priority fees paid"),
			needs("results", listOf(object(
				needs("coinbaseDiff", decimal, "by this transaction"),
				needs("ethSentToCoinbase", decimal, "by this transaction"),
				needs("fromAddress", address, "sender"),
				needs("gasFees", decimal, "by this transaction"),
				needs("gasPrice", decimal, "coinbaseDiff for each gas used"),
				needs("gasUsed", integer, "by this transaction"),
				needs("toAddress", &Schema{Type: []string{"string", "null"}}, "recipient; null for a creation"),
				needs("txHash", hash, "the transaction"),
				may("value", hexBytes, "what it returned, if it succeeded"),
				may("error", text, "why it failed"),
				may("revert", hexBytes, "what it reverted with"),
				may("blobGasUsed", integer, "of a blob transaction"),
			)), "one for each transaction"),
			needs("stateBlockNumber", integer, "block whose state it began with"),
			needs("totalGasUsed", integer, "by all"),
			may("totalBlobGasUsed", integer, "by all"),
		),
		Refusals: append([]rpc.Refusal{
			rpc.InvalidParams, rpc.BundleEmpty, rpc.BundleTooManyTxs, rpc.BundleTooLarge, rpc.BundleMissingBlock,
			rpc.BundleUndecodable,
		}, simulationRefusals...),
		Do: m.doCallBundle,
	}
}

func (m *Methods) doCallBundle(ctx context.Context, call *Call) (any, error) {
	request, err := bundle.ReadCallBundle(call.Params, m.intake(call))
	if err != nil {
		return nil, err
	}
	var got *exec.CallResult
	err = m.simulated(ctx, call, "eth_callBundle", func(ctx context.Context) (uint64, bool, error) {
		var err error
		if got, err = m.Simulator.Call(ctx, request.Txs, request.Environment); err != nil {
			return 0, false, err
		}
		return got.GasUsed, true, nil
	})
	if err != nil {
		return nil, err
	}
	answer := callResult{
		BundleHash: request.Hash, CoinbaseDiff: got.CoinbaseDiffWei.Dec(), EthSentToCoinbase: got.ToCoinbaseWei.Dec(),
		GasFees:        got.GasFeesWei.Dec(),
		BundleGasPrice: perGas(got.CoinbaseDiffWei, got.GasUsed).Dec(), StateBlockNumber: got.Parent.Number.Uint64(),
		TotalGasUsed: got.GasUsed,
	}
	for _, r := range got.Results {
		answer.Results = append(answer.Results, txResultOf(&r))
		answer.TotalBlobGasUsed += r.BlobGasUsed
	}
	return answer, nil
}

func perGas(wei *uint256.Int, gas uint64) *uint256.Int {
	if gas == 0 {
		return new(uint256.Int)
	}
	return new(uint256.Int).Div(wei, uint256.NewInt(gas))
}

func txResultOf(r *exec.TxResult) txResult {
	result := txResult{
		BlobGasUsed: r.BlobGasUsed, CoinbaseDiff: r.CoinbaseDiffWei.Dec(), EthSentToCoinbase: r.ToCoinbaseWei.Dec(),
		FromAddress: r.From.Hex(),
		GasFees:     r.GasFeesWei.Dec(), GasPrice: r.GasPriceWei.Dec(), GasUsed: r.GasUsed, TxHash: r.Hash,
	}
	if r.To != nil {
		to := r.To.Hex()
		result.ToAddress = &to
	}
	returned := hexutil.Bytes(r.Return)
	if r.Err == nil {
		result.Value = &returned
		return result
	}
	result.Error = r.Err.Error()
	if len(r.Return) > 0 {
		result.Revert = &returned
	}
	return result
}
