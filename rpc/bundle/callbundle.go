package bundle

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// callParams is params[0] of eth_callBundle. The fields after timestamp are not in the interface
// description.
type callParams struct {
	Txs         RawList `json:"txs"`
	BlockNumber Number  `json:"blockNumber"`
	StateBlock  Block   `json:"stateBlockNumber"`
	Timestamp   Number  `json:"timestamp"`

	Coinbase      *Address  `json:"coinbase"`
	TimeoutMs     Number    `json:"timeout"`
	GasLimit      Number    `json:"gasLimit"`
	Difficulty    BigNumber `json:"difficulty"`
	BaseFee       BigNumber `json:"baseFee"`
	ExcessBlobGas Number    `json:"excessBlobGas"`
	// TransactionIndex asks for a place in the block. Only 0, the top of the block, is accepted.
	TransactionIndex Number `json:"transactionIndex"`
}

// Call is a decoded eth_callBundle request.
type Call struct {
	// Hash is the bundle's, by the rule of eth_sendBundle.
	Hash        common.Hash
	Txs         []exec.Tx
	Environment exec.Environment
}

// ReadCallBundle reads the params of eth_callBundle. Errors are *rpc.Refused.
func ReadCallBundle(params json.RawMessage, in Intake) (*Call, error) {
	var p callParams
	if err := ReadPositional(params, &p); err != nil {
		return nil, err
	}
	if p.Txs.Count() == 0 {
		return nil, rpc.BundleEmpty.Plain()
	}
	if p.TransactionIndex.Value != 0 {
		return nil, rpc.InvalidParams.With("params[0].transactionIndex: a bundle is simulated at the top of a block: " +
			"leave it out, or simulate the transactions before it, too")
	}
	txs, err := readTxs("params[0].txs", p.Txs, in.Limits)
	if err != nil {
		return nil, err
	}
	if p.BlockNumber.Value == 0 {
		return nil, rpc.BundleMissingBlock.Plain()
	}
	if !p.StateBlock.Set && in.Limits.Literal {
		return nil, MissingParam("params[0].stateBlockNumber")
	}
	if err := decode(txs); err != nil {
		return nil, err
	}
	if err := findSenders(txs, in); err != nil {
		return nil, err
	}
	call := &Call{Hash: Hash(hashes(txs)), Environment: p.environment(in.Limits)}
	for _, s := range txs {
		call.Txs = append(call.Txs, *s.exec())
	}
	return call, nil
}

func (p *callParams) environment(limits Config) exec.Environment {
	env := blockParams{
		parent: p.StateBlock, number: p.BlockNumber, timestamp: p.Timestamp, coinbase: p.Coinbase,
		gasLimit: p.GasLimit, baseFee: p.BaseFee,
	}.environment()
	env.Difficulty, env.Timeout = p.Difficulty.Value, milliseconds(p.TimeoutMs.Value, limits.MaxTimeout)
	if p.ExcessBlobGas.Set {
		env.ExcessBlobGas = &p.ExcessBlobGas.Value
	}
	return env
}
