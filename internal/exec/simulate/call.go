package simulate

import (
	"context"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Call implements exec.Simulator (eth_callBundle, docs/spec.md, Calls). Every transaction may fail,
// and together they may use more gas than a block holds. The sums add up what each transaction
// paid: a transaction that takes from the coinbase counts as 0, not as a negative amount.
func (s *Simulator) Call(ctx context.Context, txs []exec.Tx, env exec.Environment) (*exec.CallResult, error) {
	result := &exec.CallResult{
		Results: make([]exec.TxResult, 0, len(txs)), GasFeesWei: new(wei), ToCoinbaseWei: new(wei), CoinbaseDiffWei: new(wei),
	}
	err := s.within(ctx, s.timeoutOf(env), env, pretended(env), func(b *block) error {
		result.Parent = b.Parent
		b.liftLimits()
		for i := range txs {
			tx := txs[i]
			tx.CanRevert = true
			did, err := b.apply(&tx)
			if err != nil {
				return &exec.InclusionError{Tx: tx.Hash(), Cause: err}
			}
			result.Results = append(result.Results, *did)
			result.GasUsed += did.GasUsed
			result.GasFeesWei.Add(result.GasFeesWei, did.GasFeesWei)
			result.ToCoinbaseWei.Add(result.ToCoinbaseWei, did.ToCoinbaseWei)
			result.CoinbaseDiffWei.Add(result.CoinbaseDiffWei, did.CoinbaseDiffWei)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// pretended makes the block that an environment describes.
func pretended(env exec.Environment) func(*State) *types.Header {
	return func(st *State) *types.Header { return pretend(st.Config, st.Parent, env) }
}
