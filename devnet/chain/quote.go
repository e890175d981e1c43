package chain

import (
	"github.com/holiman/uint256"
)

// Reserves are what a pool holds.
type Reserves struct {
	EtherWei, Tokens *uint256.Int
}

// Opening returns a pool's reserves at genesis.
func Opening() Reserves {
	return Reserves{EtherWei: OpeningEtherWei.Clone(), Tokens: OpeningTokens.Clone()}
}

// Buy returns how many tokens a pool gives for ether, and its reserves afterwards. Amounts above
// 2^112 are not traded.
func (r Reserves) Buy(etherWei *uint256.Int) (tokens *uint256.Int, after Reserves) {
	tokens = amountOut(etherWei, r.EtherWei, r.Tokens)
	return tokens, Reserves{new(uint256.Int).Add(r.EtherWei, etherWei), new(uint256.Int).Sub(r.Tokens, tokens)}
}

// Sell returns how much ether a pool gives for tokens, and its reserves afterwards.
func (r Reserves) Sell(tokens *uint256.Int) (etherWei *uint256.Int, after Reserves) {
	etherWei = amountOut(tokens, r.Tokens, r.EtherWei)
	return etherWei, Reserves{new(uint256.Int).Sub(r.EtherWei, etherWei), new(uint256.Int).Add(r.Tokens, tokens)}
}

// amountOut is the same as in Quote.sol: the pool keeps a fee of three thousandths of what comes
// in.
func amountOut(in, reserveIn, reserveOut *uint256.Int) *uint256.Int {
	counted := new(uint256.Int).Mul(in, uint256.NewInt(997))
	whole := new(uint256.Int).Mul(reserveIn, uint256.NewInt(1000))
	out := new(uint256.Int).Mul(counted, reserveOut)
	return out.Div(out, whole.Add(whole, counted))
}

// Gap returns what Backrun.sol would do with two pools' reserves and unlimited ether: how much it
// uses, and its profit. Both are zero if the price gap is smaller than the pools' fees.
func Gap(first, second Reserves) (amountWei, profitWei *uint256.Int) {
	cheap, dear := second, first
	if new(uint256.Int).Mul(first.Tokens, second.EtherWei).Gt(new(uint256.Int).Mul(second.Tokens, first.EtherWei)) {
		cheap, dear = first, second
	}
	amountWei = bestAmount(cheap, dear)
	bought, _ := cheap.Buy(amountWei)
	backWei, _ := dear.Sell(bought)
	if !backWei.Gt(amountWei) {
		return new(uint256.Int), new(uint256.Int)
	}
	return amountWei, new(uint256.Int).Sub(backWei, amountWei)
}

// bestAmount is the same as best in Backrun.sol, step by step.
func bestAmount(cheap, dear Reserves) *uint256.Int {
	millionths := uint256.NewInt(1e12)
	in := func(n *uint256.Int) *uint256.Int { return new(uint256.Int).Div(n, millionths) }
	product := func(factors ...*uint256.Int) *uint256.Int {
		p := uint256.NewInt(1)
		for _, factor := range factors {
			p.Mul(p, factor)
		}
		return p
	}
	etherCheap, tokenCheap, etherDear, tokenDear := in(cheap.EtherWei), in(cheap.Tokens), in(dear.EtherWei),
		in(dear.Tokens)
	e := product(uint256.NewInt(997*997), tokenCheap, etherDear)
	f := product(uint256.NewInt(1000*1000), etherCheap, tokenDear)
	g := new(uint256.Int).Add(product(uint256.NewInt(1000), tokenDear), product(uint256.NewInt(997), tokenCheap))
	g.Mul(g, uint256.NewInt(997))
	mean := new(uint256.Int).Sqrt(product(e, f))
	if !mean.Gt(f) || g.IsZero() {
		return new(uint256.Int)
	}
	mean.Sub(mean, f)
	return mean.Div(mean.Mul(mean, millionths), g)
}
