package orders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
)

func someTx(from common.Address) Element {
	return Element{Tx: &Tx{Transaction: types.NewTx(&types.LegacyTx{To: &from}), From: from}}
}

// What is given back, to the wei. 100030342000000000 wei and a base fee of 200 gwei are the figures
// of the worked examples of mev-share's tests.
func TestPayouts(t *testing.T) {
	user, searcher, friend := common.Address{1}, common.Address{2}, common.Address{3}
	target, backrun := someTx(user), someTx(searcher)
	value, cost := uint256.NewInt(100_030_342_000_000_000), uint256.NewInt(payoutGas*200*params.GWei)
	shared := []Share{{user, 50}, {friend, 50}}
	for _, c := range []struct {
		name    string
		bundle  Bundle
		brought []uint64 // by the elements; nothing is the worked examples' value by the second
		want    string
	}{
		{
			name: "a backrun gives 90 % back", bundle: Bundle{Elements: []Element{target, backrun}, Refunds: []Refund{{0, 90}}},
			want: "01: 84027307800000000",
		},
		{
			name: "two addresses share it",
			bundle: Bundle{
				Elements: []Element{{Bundle: &Bundle{Elements: []Element{target}, Shares: shared}}, backrun},
				Refunds:  []Refund{{0, 90}},
			},
			want: "01: 39013653900000000, 03: 39013653900000000",
		},
		{
			name: "the owner of a bundle is that of its first transaction",
			bundle: Bundle{
				Elements: []Element{{Bundle: &Bundle{Elements: []Element{target, someTx(friend)}}}, backrun},
				Refunds:  []Refund{{0, 90}},
			},
			want: "01: 84027307800000000",
		},
		{
			name: "shares below 100 % leave the rest with the builder",
			bundle: Bundle{
				Elements: []Element{{Bundle: &Bundle{Elements: []Element{target}, Shares: shared[:1]}}, backrun},
				Refunds:  []Refund{{0, 90}},
			},
			want: "01: 42013653900000000",
		},
		{
			name: "what the target pays itself is not given back", brought: []uint64{50_000_000_000_000_000,
				100_030_342_000_000_000},
			bundle: Bundle{Elements: []Element{target, backrun}, Refunds: []Refund{{0, 90}}}, want: "01: 84027307800000000",
		},
		{
			name: "the transaction that pays is named", brought: []uint64{100_030_342_000_000_000, 5_000_000},
			bundle: Bundle{
				Elements: []Element{target, backrun}, Refunds: []Refund{{0, 90}}, PaidBy: []common.Hash{target.Tx.Hash()},
				Shares: shared[1:],
			},
			want: "03: 42013653900000000",
		},
		{
			name: "less than the cost is not paid", brought: []uint64{0, payoutGas * 200 * params.GWei},
			bundle: Bundle{Elements: []Element{target, backrun}, Refunds: []Refund{{0, 100}}}, want: "",
		},
		{
			name:   "a delayed refund is not paid in the block",
			bundle: Bundle{Elements: []Element{target, backrun}, Refunds: []Refund{{0, 90}}, Delayed: true}, want: "",
		},
		{name: "nobody asked for one", bundle: Bundle{Elements: []Element{target, backrun}}, want: ""},
		{
			name: "who is owed twice is paid once", brought: []uint64{0, 0, 100_030_342_000_000_000},
			bundle: Bundle{Elements: []Element{target, someTx(user), backrun}, Refunds: []Refund{{0, 45}, {1, 45}}},
			want:   "01: 78027307800000000",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.brought == nil {
				c.brought = []uint64{0, value.Uint64()}
			}
			var list []brought
			for i, wei := range c.brought {
				list = append(list, brought{c.bundle.Elements[i], uint256.NewInt(wei)})
			}
			var got []string
			for _, payout := range c.bundle.payouts(list, cost) {
				got = append(got, fmt.Sprintf("%02x: %s", payout.To[0], payout.AmountWei))
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// A backrun on the chain: what the market's arithmetic says that it earns, what the searcher pays
// of it, what the user gets of that, and what the builder keeps, to the wei.
func TestARefundOnTheChain(t *testing.T) {
	s := newMarket(t)
	s.Send("eth_sendBundle", s.Bundle("A B50", chaintest.Object{"refundPercent": 90}))
	draft, placed := s.draft()
	baseFee, tip := draft.BaseFeeWei(), uint256.NewInt(params.GWei)
	built, err := draft.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, moved := chain.Opening().Buy(uint256.MustFromBig(s.Txs["A"].Value()))
	_, profit := chain.Gap(moved, chain.Opening())
	payment := percentOf(profit, 50)
	cost := new(uint256.Int).Mul(baseFee, uint256.NewInt(30_000))
	refund := new(uint256.Int).Sub(percentOf(payment, 90), cost)

	payout := built.Block.Transactions()[2]
	if *payout.To() != chaintest.AddressOf(chaintest.Wallet("user", 0)) || payout.Value().Cmp(refund.ToBig()) != 0 ||
		len(payout.Data()) != 0 {
		t.Errorf("%s wei go to %s, want %s", payout.Value(), payout.To(), refund)
	}
	if payout.GasPrice().Cmp(baseFee.ToBig()) != 0 || !placed[0].refundWei.Eq(refund) {
		t.Errorf("a gas price of %s, a refund of %s", payout.GasPrice(), placed[0].refundWei)
	}
	// The builder keeps the user's tip and the rest of the payment, and pays for the payout's gas.
	swapGas := new(uint256.Int).Sub(uint256.NewInt(built.Block.GasUsed()),
		new(uint256.Int).Add(uint256.NewInt(params.TxGas), s.gasOf("B50")))
	kept := new(uint256.Int).Mul(tip, swapGas)
	kept.Add(kept, payment)
	kept.Sub(kept, refund)
	kept.Sub(kept, new(uint256.Int).Mul(baseFee, uint256.NewInt(params.TxGas)))
	if !placed[0].valueWei.Eq(kept) || !built.CoinbaseGainWei.Eq(kept) {
		t.Errorf("the order is worth %s, the block %s, want %s", placed[0].valueWei, built.CoinbaseGainWei, kept)
	}
}

// gasOf is what a transaction after A uses.
func (s *market) gasOf(name string) *uint256.Int {
	s.t.Helper()
	draft, err := s.node.Draft(s.t.Context(), chaintest.Args(s.node))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := draft.Apply(s.t.Context(), s.Txs["A"]); err != nil {
		s.t.Fatal(err)
	}
	out, err := draft.Apply(s.t.Context(), s.Txs[name])
	if err != nil || !out.Succeeded {
		s.t.Fatalf("%+v, %v", out, err)
	}
	return uint256.NewInt(out.GasUsed)
}
