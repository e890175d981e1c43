package searcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/contract"
	"github.com/gavel-relay/gavel/stream/client"
)

// opportunity is a price gap that an order opens.
type opportunity struct {
	// known says that the hint shows the pools' new reserves; profitWei is then what closing the
	// gap earns. Otherwise it is only known that a pool's price will move.
	known     bool
	profitWei *uint256.Int
}

// opportunity looks for a swap in a hint. A hint with whole logs shows the pool's new reserves. A
// hint that shows only a Swap's topic, or a call of the router, lets the searcher only guess.
func (s *Searcher) opportunity(ctx context.Context, hint client.Event) (opportunity, bool, error) {
	after, moved := map[common.Address]contract.Reserves{}, false
	for _, log := range hint.Logs {
		if _, ours := contract.Other(log.Address); !ours || len(log.Topics) == 0 {
			continue
		}
		if reserves, ok := contract.Synced(log.Topics, log.Data); ok {
			after[log.Address] = reserves
		}
		moved = moved || log.Topics[0] == contract.SwapTopic
	}
	moved = moved || slices.ContainsFunc(hint.Txs, func(tx client.Tx) bool {
		return tx.To != nil && *tx.To == contract.RouterAt
	})
	if !moved || len(after) == 0 {
		return opportunity{}, moved, nil
	}
	now, err := s.reserves(ctx)
	if err != nil {
		return opportunity{}, false, err
	}
	for pool, reserves := range after {
		now[pool] = reserves
	}
	_, profit := contract.Gap(now[contract.PoolA], now[contract.PoolB])
	return opportunity{known: true, profitWei: profit}, !profit.IsZero(), nil
}

// reserves returns the pools' reserves at the head of the chain.
func (s *Searcher) reserves(ctx context.Context) (map[common.Address]contract.Reserves, error) {
	etherCall, tokenCall := contract.ReserveCalls()
	var batch []rpc.BatchElem
	for _, pool := range contract.Pools {
		for _, data := range [][]byte{etherCall, tokenCall} {
			call := map[string]any{"to": pool, "input": hexutil.Bytes(data)}
			batch = append(batch, rpc.BatchElem{Method: "eth_call", Args: []any{call, "latest"}, Result: new(hexutil.Bytes)})
		}
	}
	if err := s.Node.BatchCallContext(ctx, batch); err != nil {
		return nil, fmt.Errorf("read the pools: %w", err)
	}
	out := map[common.Address]contract.Reserves{}
	for i, pool := range contract.Pools {
		word := func(n int) (*uint256.Int, error) {
			answer := *batch[n].Result.(*hexutil.Bytes)
			if batch[n].Error != nil || len(answer) != 32 {
				return nil, fmt.Errorf("read pool %s: %w", pool, firstOf(batch[n].Error, ethereum.NotFound))
			}
			return new(uint256.Int).SetBytes(answer), nil
		}
		etherWei, err := word(2 * i)
		if err != nil {
			return nil, err
		}
		tokens, err := word(2*i + 1)
		if err != nil {
			return nil, err
		}
		out[pool] = contract.Reserves{EtherWei: etherWei, Tokens: tokens}
	}
	return out, nil
}

func firstOf(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
