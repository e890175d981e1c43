package searcher

import (
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/stream/client"
)

// decision is what a searcher does about a hint.
type decision struct {
	// follows says that it sends a backrun. percent is the share of its profit that the backrun
	// pays to the block's fee recipient.
	follows bool
	percent uint64
	// The backrun is valid from firstBlock to lastBlock.
	firstBlock, lastBlock uint64
}

// blocksAhead is for how many blocks a backrun is valid: for more than the next one, because its
// target may land later.
const blocksAhead = 3

// decide is pure. A hint with whole logs shows a pool's new reserves, so the searcher knows what
// closing the price gap earns; its part must pay for the gas. A hint that shows only that a pool
// moves is followed on the off chance.
func decide(name string, hint client.Event, market Market) decision {
	seen := read(hint)
	d := decision{
		follows: seen.moved, percent: share(name, hint.Hash), firstBlock: market.Head + 1,
		lastBlock: market.Head + blocksAhead,
	}
	if !seen.moved || len(seen.after) == 0 {
		return d
	}
	pools := maps.Clone(market.Reserves)
	maps.Copy(pools, seen.after)
	_, profitWei := chain.Gap(pools[chain.PoolA], pools[chain.PoolB])
	costWei := new(uint256.Int).Mul(market.BaseFeeWei, uint256.NewInt(chain.BackrunGas))
	d.follows = percentOf(profitWei, 100-d.percent).Gt(costWei)
	return d
}

// reading is what a hint shows of the market.
type reading struct {
	// moved says that a pool's price will move. after are the reserves of the pools of which the
	// hint has the whole logs.
	moved bool
	after map[common.Address]chain.Reserves
}

// read looks for a swap in a hint: a Swap's topic in a log, or a call of the router.
func read(hint client.Event) reading {
	seen := reading{after: map[common.Address]chain.Reserves{}}
	for _, log := range hint.Logs {
		if _, ours := chain.Other(log.Address); !ours || len(log.Topics) == 0 {
			continue
		}
		if reserves, ok := chain.Synced(log.Topics, log.Data); ok {
			seen.after[log.Address] = reserves
		}
		seen.moved = seen.moved || log.Topics[0] == chain.SwapTopic
	}
	seen.moved = seen.moved || slices.ContainsFunc(hint.Txs, func(tx client.Tx) bool {
		return tx.To != nil && *tx.To == chain.RouterAt
	})
	return seen
}

// share returns the share of its profit that a searcher pays to the block's fee recipient, which
// refunds a part of that to the user. It is from 50 to 94 percent and differs for each hint and
// searcher, so that the searchers win in turn.
func share(name string, hint common.Hash) uint64 {
	return 50 + uint64(crypto.Keccak256([]byte(name), hint[:])[0])%45
}

func percentOf(amount *uint256.Int, percent uint64) *uint256.Int {
	part := new(uint256.Int).Mul(amount, uint256.NewInt(percent))
	return part.Div(part, uint256.NewInt(100))
}
