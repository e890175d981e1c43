package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
)

// errNoBaseFee is the error for blocks from before London.
var errNoBaseFee = errors.New("it has no base fee")

// Replay implements exec.Replayer. It does not execute what comes after the transactions, such as
// withdrawals. Only the context bounds its time. If the gas used is not what the header says,
// Replay returns an error: the state or the fork schedule is another chain's.
func (s *Simulator) Replay(ctx context.Context, replayed *types.Block) (*exec.Landing, error) {
	landing := &exec.Landing{Block: replayed, Txs: make([]exec.TxResult, 0, len(replayed.Transactions()))}
	header := func(*State) *types.Header { return replayed.Header() }
	if replayed.BaseFee() == nil {
		return nil, fmt.Errorf("replay block %d: %w", replayed.NumberU64(), errNoBaseFee)
	}
	err := s.within(ctx, 0, exec.Environment{ParentHash: replayed.ParentHash()}, header, func(b *block) error {
		b.maxTxGas = math.MaxUint64 // it was included, so it may use what it did
		signer := types.MakeSigner(b.Config, b.header.Number, b.header.Time)
		for _, tx := range replayed.Transactions() {
			from, err := types.Sender(signer, tx)
			if err != nil {
				return fmt.Errorf("transaction %s: %w", tx.Hash(), err)
			}
			did, err := b.apply(&exec.Tx{Transaction: tx, From: from, CanRevert: true})
			if err != nil {
				return fmt.Errorf("transaction %s: %w", tx.Hash(), err)
			}
			for _, log := range did.Logs {
				log.BlockHash = replayed.Hash()
			}
			landing.Txs = append(landing.Txs, *did)
		}
		if used := b.gas.Used(); used != replayed.GasUsed() {
			return fmt.Errorf("it used %d gas, its header says %d", used, replayed.GasUsed())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("replay block %d (%s): %w", replayed.NumberU64(), replayed.Hash(), err)
	}
	return landing, nil
}
