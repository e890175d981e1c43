package chain_test

import (
	"context"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/devnet/chain"
)

func contextOf(t fataler) context.Context {
	if t, ok := t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

// Whatever is swapped in whatever order, the pools on the chain are where the arithmetic in Go
// says, to the wei, and so is the trader.
func TestSwapsAreTheModels(t *testing.T) {
	m := open(t)
	rapid.Check(t, func(t *rapid.T) {
		model := map[common.Address]chain.Reserves{chain.PoolA: chain.Opening(), chain.PoolB: chain.Opening()}
		gainedEther := new(uint256.Int)
		opening := m.after(t)
		gainedTokens := opening.tokens(chain.Token, at(trader))
		var calls []call
		for range rapid.IntRange(1, 6).Draw(t, "swaps") {
			pool := rapid.SampledFrom(chain.Pools[:]).Draw(t, "pool")
			amount := uint256.NewInt(rapid.Uint64Range(1, 18_000_000_000_000_000_000).Draw(t, "amount"))
			if rapid.Bool().Draw(t, "buy") {
				bought, after := model[pool].Buy(amount)
				if bought.IsZero() {
					continue
				}
				model[pool] = after
				gainedTokens.Add(gainedTokens, bought)
				calls = append(calls, call{trader, chain.RouterAt, amount, chain.BuyCall(pool, bought)})
				continue
			}
			amount.Mul(amount, uint256.NewInt(2_000))
			bought, after := model[pool].Sell(amount)
			if bought.IsZero() {
				continue
			}
			model[pool] = after
			gainedTokens.Sub(gainedTokens, amount)
			gainedEther.Add(gainedEther, bought)
			calls = append(calls, call{trader, chain.RouterAt, nil, chain.SellCall(pool, amount, bought)})
		}
		got := m.after(t, calls...)
		for _, pool := range chain.Pools {
			if !same(got.reserves(pool), model[pool]) {
				t.Errorf("pool %s has %s, want %s", pool, show(got.reserves(pool)), show(model[pool]))
			}
			wantBacked(t, got, pool)
		}
		if e, k := got.tokens(chain.WrappedEther, at(trader)), got.tokens(chain.Token, at(trader)); !e.Eq(gainedEther) ||
			!k.Eq(gainedTokens) {
			t.Errorf("the trader has %s wrapped wei and %s tokens, want %s and %s", e, k, gainedEther, gainedTokens)
		}
	})
}

// wantBacked checks that a pool has what it says, and that wrapped ether is covered by ether.
func wantBacked(t *rapid.T, got *after, pool common.Address) {
	reserves := got.reserves(pool)
	if e, k := got.tokens(chain.WrappedEther, pool), got.tokens(chain.Token, pool); !e.Eq(reserves.EtherWei) ||
		!k.Eq(reserves.Tokens) {
		t.Errorf("pool %s says %s, but has %s wei and %s tokens", pool, show(reserves), e, k)
	}
	if supply := got.storage(chain.WrappedEther, common.Hash{31: 2}); !got.balance(chain.WrappedEther).Eq(supply) {
		t.Errorf("%s wei are wrapped, %s are there", supply, got.balance(chain.WrappedEther))
	}
}

// A backrun uses and earns what the arithmetic in Go says, pays the fee recipient its percentage,
// and leaves nothing behind; without a gap it reverts.
func TestBackrunsAreTheModels(t *testing.T) {
	m := open(t)
	rapid.Check(t, func(t *rapid.T) {
		pool := rapid.SampledFrom(chain.Pools[:]).Draw(t, "pool")
		other, _ := chain.Other(pool)
		amount := uint256.NewInt(rapid.Uint64Range(1e15, 18e18).Draw(t, "wei"))
		percent := rapid.Uint64Range(0, 100).Draw(t, "percent")
		swap := call{trader, chain.RouterAt, amount, chain.BuyCall(pool, new(uint256.Int))}
		_, moved := chain.Opening().Buy(amount)
		if rapid.Bool().Draw(t, "sell") {
			amount.Mul(amount, uint256.NewInt(2_000))
			swap = call{trader, chain.RouterAt, nil, chain.SellCall(pool, amount, new(uint256.Int))}
			_, moved = chain.Opening().Sell(amount)
		}
		firstRuns := rapid.SampledFrom([][2]common.Address{{pool, other}, {other, pool}}).Draw(t, "order")
		got := m.after(t, swap, call{searcher, chain.BackrunAt, ether(100),
			chain.RunCall(firstRuns[0], firstRuns[1], percent)})

		_, profit := chain.Gap(moved, chain.Opening())
		succeeded := got.receipts[1].Status == types.ReceiptStatusSuccessful
		if succeeded == profit.IsZero() {
			t.Fatalf("a gap of %s wei: success is %v", profit, succeeded)
		}
		payment := new(uint256.Int).Div(new(uint256.Int).Mul(profit, uint256.NewInt(percent)), uint256.NewInt(100))
		if !got.balance(coinbase).Eq(payment) {
			t.Errorf("the fee recipient has %s wei, want %s", got.balance(coinbase), payment)
		}
		if left := got.balance(chain.BackrunAt); !left.IsZero() ||
			!got.tokens(chain.WrappedEther, chain.BackrunAt).IsZero() {
			t.Errorf("%s wei stay behind", left)
		}
		for _, p := range chain.Pools {
			wantBacked(t, got, p)
		}
	})
}

// No other amount earns more than the one that is called best, but for rounding.
func TestGapIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, moved := chain.Opening().Buy(uint256.NewInt(rapid.Uint64Range(4e18, 18e18).Draw(t, "wei")))
		best, profit := chain.Gap(moved, chain.Opening())
		if best.IsZero() {
			t.Fatal("no gap")
		}
		for _, percent := range []uint64{50, 90, 99, 101, 110, 200} {
			amount := new(uint256.Int).Div(new(uint256.Int).Mul(best, uint256.NewInt(percent)), uint256.NewInt(100))
			tokens, _ := chain.Opening().Buy(amount)
			back, _ := moved.Sell(tokens)
			if back.Gt(new(uint256.Int).Add(amount, profit)) {
				t.Errorf("%s wei bring %s, more than %s with a profit of %s", amount, back, best, profit)
			}
		}
	})
}

// What a swap writes is what searchers and the hint default_logs know as a pool of this style.
func TestSwapIsSeen(t *testing.T) {
	topic := common.HexToHash("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822")
	if chain.SwapTopic != topic {
		t.Errorf("Swap is %s, want %s", chain.SwapTopic, topic)
	}
	got := open(t).after(t, call{trader, chain.RouterAt, ether(5), chain.BuyCall(chain.PoolB, new(uint256.Int))})
	_, want := chain.Opening().Buy(ether(5))
	var synced, swapped bool
	for _, log := range got.receipts[0].Logs {
		if log.Address != chain.PoolB {
			continue
		}
		if reserves, ok := chain.Synced(log.Topics, log.Data); ok {
			synced = same(reserves, want)
		}
		swapped = swapped || log.Topics[0] == chain.SwapTopic && len(log.Topics) == 3 && len(log.Data) == 128
	}
	if !synced || !swapped {
		t.Errorf("Sync with the reserves: %v, Swap: %v", synced, swapped)
	}
}

// What nobody may do changes nothing.
func TestRefusedSwaps(t *testing.T) {
	m, much := open(t), new(uint256.Int).Lsh(uint256.NewInt(1), 200)
	for name, c := range map[string]call{
		"a price that is too good": {trader, chain.RouterAt, ether(1), chain.BuyCall(chain.PoolA, ether(2_000))},
		"tokens that it has not": {trader, chain.RouterAt, nil, chain.SellCall(chain.PoolA, much,
			new(uint256.Int))},
		"nothing for something": {trader, chain.RouterAt, new(uint256.Int),
			chain.BuyCall(chain.PoolA, new(uint256.Int))},
		"a backrun without a gap": {searcher, chain.BackrunAt, ether(1),
			chain.RunCall(chain.PoolA, chain.PoolB, 50)},
		"a backrun without any wei": {searcher, chain.BackrunAt, nil,
			chain.RunCall(chain.PoolA, chain.PoolB, 50)},
		"a pool against itself": {searcher, chain.BackrunAt, ether(1),
			chain.RunCall(chain.PoolA, chain.PoolA, 50)},
		"more percent than there is": {searcher, chain.BackrunAt, ether(1),
			chain.RunCall(chain.PoolA, chain.PoolB, 200)},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.after(t, c)
			if got.receipts[0].Status == types.ReceiptStatusSuccessful {
				t.Error("it succeeds")
			}
			for _, pool := range chain.Pools {
				if !same(got.reserves(pool), chain.Opening()) {
					t.Errorf("pool %s has %s", pool, show(got.reserves(pool)))
				}
			}
		})
	}
}
