package refund

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// People and orders of the tests, told by their first byte.
var (
	alice, bob, carol = common.Address{0xaa}, common.Address{0xbb}, common.Address{0xcc}
	target, backrun   = common.Hash{0x01}, common.Hash{0x02}
	block             = rpc.Head{Number: 100, Hash: common.Hash{0xb1}, Timestamp: 1_700_000_000}
)

func tx(from common.Address) rpc.Element { return rpc.Element{Tx: &rpc.Transaction{From: from}} }

func inner(b rpc.Bundle) rpc.Element { return rpc.Element{Bundle: &b} }

func wei(decimal string) *uint256.Int { return uint256.MustFromDecimal(decimal) }

func amounts(values ...uint64) (list []*uint256.Int) {
	for _, value := range values {
		list = append(list, uint256.NewInt(value))
	}
	return list
}

// told are refunds as "hash recipient amount", the first bytes of the names.
func told(refunds []rpc.Refund) string {
	var list []string
	for _, r := range refunds {
		line := fmt.Sprintf("%x %x %s", r.Hash[0], r.Recipient[0], r.AmountWei.Dec())
		if r.Bundle != (common.Hash{}) {
			line += fmt.Sprintf(" by %x", r.Bundle[0])
		}
		if r.Delayed {
			line += " delayed"
		}
		list = append(list, line)
	}
	return strings.Join(list, ", ")
}

// The worked payouts of docs/spec.md, Payouts 2: alice's transaction pays nothing, its backrun V.
// What a payout costs differs between builders.
func TestWorkedPayouts(t *testing.T) {
	value, baseFee := wei("100030342000000000"), wei("200000000000")
	shared := []rpc.Share{{Address: alice, Percent: 50}, {Address: bob, Percent: 50}}
	for name, test := range map[string]struct {
		paid    *uint256.Int
		costGas uint64
		shares  []rpc.Share
		want    string
	}{
		"nothing is taken off":     {value, 0, nil, "1 aa 90027307800000000 by 2"},
		"30000 gas":                {value, 30_000, nil, "1 aa 84027307800000000 by 2"},
		"21000 gas, to an account": {value, 21_000, nil, "1 aa 85827307800000000 by 2"},
		"30000 gas, taken off what is paid": {new(uint256.Int).Sub(value, PayoutCost(30_000, baseFee)), 0, nil,
			"1 aa 84627307800000000 by 2"},
		"shared by two": {value, 30_000, shared,
			"1 aa 39013653900000000 by 2, 1 bb 39013653900000000 by 2"},
	} {
		t.Run(name, func(t *testing.T) {
			division, err := Split(Landed{
				Block: block, CostWei: PayoutCost(test.costGas, baseFee), PaidWei: []*uint256.Int{nil, test.paid},
				Order: &rpc.Order{Bundle: rpc.Bundle{
					Hash: backrun, Refunds: []rpc.ElementRefund{{Element: 0, Percent: 90}},
					Elements: []rpc.Element{inner(rpc.Bundle{Hash: target, Elements: []rpc.Element{tx(alice)}, Shares: test.shares}),
						tx(carol)},
				}},
			})
			if got := told(division.Refunds); err != nil || got != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

// Who gets what of 1000 wei and more, by the terms.
func TestTerms(t *testing.T) {
	ninety := []rpc.ElementRefund{{Element: 0, Percent: 90}}
	for name, test := range map[string]struct {
		bundle rpc.Bundle
		paid   []*uint256.Int
		cost   uint64
		want   string
		rest   uint64
	}{
		"without refunds all stays": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}}, paid: amounts(10, 1000), want: "", rest: 1010,
		},
		"what the named element pays is not refundable": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety}, paid: amounts(10, 1000),
			want: "2 aa 900", rest: 110,
		},
		"percents are rounded down": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety}, paid: amounts(0, 11),
			want: "2 aa 9", rest: 2,
		},
		"0 percent is no refund": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: []rpc.ElementRefund{{Element: 0}}},
			paid:   amounts(0, 1000), want: "", rest: 1000,
		},
		"100 percent leaves nothing": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)},
				Refunds: []rpc.ElementRefund{{Element: 0, Percent: 100}}},
			paid: amounts(0, 1000), want: "2 aa 1000", rest: 0,
		},
		"two elements are named": {
			bundle: rpc.Bundle{
				Elements: []rpc.Element{tx(alice), tx(bob), tx(carol)},
				Refunds:  []rpc.ElementRefund{{Element: 0, Percent: 50}, {Element: 1, Percent: 30}},
			},
			paid: amounts(5, 5, 1000), want: "2 aa 500, 2 bb 300", rest: 210,
		},
		"two elements of one sender are one refund": {
			bundle: rpc.Bundle{
				Elements: []rpc.Element{tx(alice), tx(alice), tx(carol)},
				Refunds:  []rpc.ElementRefund{{Element: 0, Percent: 50}, {Element: 1, Percent: 30}},
			},
			paid: amounts(0, 0, 1000), want: "2 aa 800", rest: 200,
		},
		"shares that do not sum to 100 leave the remainder": {
			bundle: rpc.Bundle{Refunds: ninety, Elements: []rpc.Element{inner(rpc.Bundle{
				Hash: target, Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: bob, Percent: 50},
					{Address: carol, Percent: 20}},
			}), tx(carol)}},
			paid: amounts(0, 1000), want: "1 bb 450 by 2, 1 cc 180 by 2", rest: 370,
		},
		"the first transaction is found in the depth": {
			bundle: rpc.Bundle{Refunds: ninety, Elements: []rpc.Element{
				inner(rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{Elements: []rpc.Element{tx(alice)}}), tx(bob)}}),
				tx(carol),
			}},
			paid: amounts(0, 0, 1000), want: "2 aa 900", rest: 100,
		},
		"a backrun of a backrun": {
			bundle: rpc.Bundle{Refunds: []rpc.ElementRefund{{Element: 0, Percent: 80}}, Elements: []rpc.Element{
				inner(rpc.Bundle{Hash: target, Refunds: ninety, Shares: []rpc.Share{{Address: bob, Percent: 100}},
					Elements: []rpc.Element{tx(alice), tx(carol)}}),
				tx(carol),
			}},
			paid: amounts(0, 1000, 2000), want: "1 aa 900 by 2, 1 bb 1600 by 2", rest: 500,
		},
		"an inner bundle brings what it has left": {
			bundle: rpc.Bundle{Refunds: []rpc.ElementRefund{{Element: 1, Percent: 80}}, Elements: []rpc.Element{
				inner(rpc.Bundle{Hash: target, Refunds: ninety, Elements: []rpc.Element{tx(alice), tx(carol)}}), tx(bob),
			}},
			paid: amounts(0, 1000, 7), want: "1 aa 900 by 2, 2 bb 80", rest: 27,
		},
		"eth_sendBundle shares what one transaction paid": {
			bundle: rpc.Bundle{
				Elements: []rpc.Element{tx(alice), tx(bob), tx(carol)}, Refunds: ninety, PaidBy: []int{1},
				Shares: []rpc.Share{{Address: carol, Percent: 100}},
			},
			paid: amounts(10, 1000, 7), want: "2 cc 900", rest: 117,
		},
		"it may be the refunded one": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Refunds: ninety, PaidBy: []int{0},
				Shares: []rpc.Share{{Address: carol, Percent: 100}}},
			paid: amounts(1000), want: "2 cc 900", rest: 100,
		},
		"without a recipient it is the first sender's": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)},
				Refunds: []rpc.ElementRefund{{Element: 1, Percent: 90}}, PaidBy: []int{1}},
			paid: amounts(10, 1000), want: "2 aa 900", rest: 110,
		},
		"a delayed refund is whole": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety, DelayedRefund: true},
			paid:   amounts(0, 1000), cost: 100,
			want: "2 aa 900 delayed", rest: 100,
		},
		"a bundle's own shares are for those who follow it": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety,
				Shares: []rpc.Share{{Address: carol, Percent: 100}}},
			paid: amounts(5, 1000), want: "2 aa 900", rest: 105,
		},
		"a payout that eats up the refund is delayed": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety}, paid: amounts(0, 1000),
			cost: 900, want: "2 aa 900 delayed", rest: 100,
		},
		"what is delayed in part is delayed whole": {
			bundle: rpc.Bundle{
				Elements: []rpc.Element{tx(alice), tx(alice), tx(carol)},
				Refunds:  []rpc.ElementRefund{{Element: 0, Percent: 20}, {Element: 1, Percent: 50}},
			},
			paid: amounts(0, 0, 1000), cost: 300, want: "2 aa 400 delayed", rest: 600,
		},
		"a payout that leaves one wei": {
			bundle: rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety}, paid: amounts(0, 1000), cost: 899,
			want: "2 aa 1", rest: 999,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.bundle.Hash = backrun
			division, err := Split(Landed{
				Order: &rpc.Order{Bundle: test.bundle}, Block: block, PaidWei: test.paid, CostWei: uint256.NewInt(test.cost),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := told(division.Refunds); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if !division.RestWei.Eq(uint256.NewInt(test.rest)) {
				t.Errorf("rest %s, want %d", division.RestWei.Dec(), test.rest)
			}
		})
	}
}

// An address may have its refunds go to another one: once, whatever that one has set.
func TestRedirect(t *testing.T) {
	division, err := Split(Landed{
		Block: block, PaidWei: amounts(0, 0, 1000),
		Redirect: func(address common.Address) common.Address {
			return map[common.Address]common.Address{alice: bob, bob: carol}[address]
		},
		Order: &rpc.Order{Bundle: rpc.Bundle{
			Hash: backrun, Elements: []rpc.Element{tx(alice), tx(bob), tx(carol)},
			Refunds: []rpc.ElementRefund{{Element: 0, Percent: 50}, {Element: 1, Percent: 20}},
		}},
	})
	if got := told(division.Refunds); err != nil || got != "2 bb 500, 2 cc 200" {
		t.Errorf("%s, %v", got, err)
	}
	if r := division.Refunds[0]; r.Block != block.Number || r.BlockHash != block.Hash {
		t.Errorf("refund in block %d %s, want the order's", r.Block, r.BlockHash)
	}
}

func TestWhatCannotBeSplit(t *testing.T) {
	two := []rpc.Element{tx(alice), tx(bob)}
	for name, test := range map[string]struct {
		bundle rpc.Bundle
		paid   []*uint256.Int
		want   error
	}{
		"too few payments":  {rpc.Bundle{Elements: two}, amounts(1), ErrPayments},
		"too many payments": {rpc.Bundle{Elements: two}, amounts(1, 2, 3), ErrPayments},
		"more than all numbers": {rpc.Bundle{Elements: two}, []*uint256.Int{new(uint256.Int).SetAllOne(), uint256.NewInt(1)},
			ErrPayments},
		"no such element": {rpc.Bundle{Elements: two, Refunds: []rpc.ElementRefund{{Element: 2, Percent: 1}}},
			amounts(1, 2), ErrTerms},
		"a negative element": {rpc.Bundle{Elements: two, Refunds: []rpc.ElementRefund{{Element: -1, Percent: 1}}},
			amounts(1, 2), ErrTerms},
		"a negative percent": {rpc.Bundle{Elements: two, Refunds: []rpc.ElementRefund{{Percent: -1}}},
			amounts(1, 2), ErrTerms},
		"101 percent": {rpc.Bundle{Elements: two, Refunds: []rpc.ElementRefund{{Percent: 100},
			{Element: 1, Percent: 1}}}, amounts(1, 2), ErrTerms},
		"paid by nobody": {rpc.Bundle{Elements: two, PaidBy: []int{2}}, amounts(1, 2), ErrTerms},
		"paid by less":   {rpc.Bundle{Elements: two, PaidBy: []int{-1}}, amounts(1, 2), ErrTerms},
		"shares of 101 percent": {rpc.Bundle{Elements: two, Shares: []rpc.Share{{Percent: 100}, {Percent: 1}}},
			amounts(1, 2), ErrTerms},
		"a negative share":   {rpc.Bundle{Elements: two, Shares: []rpc.Share{{Percent: -1}}}, amounts(1, 2), ErrTerms},
		"a hash of somebody": {rpc.Bundle{Elements: []rpc.Element{{Match: &target}, tx(bob)}}, amounts(1, 2), ErrTerms},
		"nobody's element": {
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{}), tx(bob)}, Refunds: []rpc.ElementRefund{{Percent: 1}}},
			amounts(1), ErrTerms,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Split(Landed{Order: &rpc.Order{Bundle: test.bundle}, PaidWei: test.paid}); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// anyBundle draws a bundle with terms that can be kept, and tells how many transactions it has.
func anyBundle(t *rapid.T, depth int) (b rpc.Bundle, txs int) {
	b.Hash = common.Hash{rapid.Byte().Draw(t, "hash")}
	elements := rapid.IntRange(1, 4).Draw(t, "elements")
	for range elements {
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "nested") == 0 {
			nested, count := anyBundle(t, depth-1)
			b.Elements, txs = append(b.Elements, inner(nested)), txs+count
			continue
		}
		b.Elements, txs = append(b.Elements, tx(anyone(t))), txs+1
	}
	left := 100
	for i := range elements {
		if rapid.Bool().Draw(t, "named") {
			percent := rapid.IntRange(0, left).Draw(t, "percent")
			b.Refunds, left = append(b.Refunds, rpc.ElementRefund{Element: i, Percent: percent}), left-percent
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "how") == 0 {
		b.PaidBy = []int{rapid.IntRange(0, elements-1).Draw(t, "paid by")}
	}
	b.DelayedRefund = rapid.Bool().Draw(t, "delayed")
	left = 100
	for range rapid.IntRange(0, 3).Draw(t, "shares") {
		percent := rapid.IntRange(0, left).Draw(t, "share")
		b.Shares, left = append(b.Shares, rpc.Share{Address: anyone(t), Percent: percent}), left-percent
	}
	return b, txs
}

func anyone(t *rapid.T) common.Address {
	return common.Address{byte(rapid.IntRange(1, 4).Draw(t, "who"))}
}

func anyLanded(t *rapid.T) Landed {
	b, txs := anyBundle(t, 2)
	l := Landed{Block: block, Order: &rpc.Order{Bundle: b}}
	for range txs {
		l.PaidWei = append(l.PaidWei, new(uint256.Int).Lsh(
			uint256.NewInt(rapid.Uint64().Draw(t, "paid")), uint(rapid.SampledFrom([]int{0, 0, 32, 128, 184}).Draw(t, "shift"))))
	}
	return l
}

// No wei appears and none is lost, whatever the terms and whatever a payout costs; nobody gets two
// refunds for one order.
func TestNoWeiIsMadeOrLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLanded(t)
		l.CostWei = uint256.NewInt(rapid.SampledFrom([]uint64{0, 1, 1 << 20, 1 << 62}).Draw(t, "cost"))
		division, err := Split(l)
		if err != nil {
			t.Fatal(err)
		}
		value, sum := new(uint256.Int), division.RestWei.Clone()
		for _, paid := range l.PaidWei {
			value.Add(value, paid)
		}
		seen := map[string]bool{}
		for _, r := range division.Refunds {
			if _, overflow := sum.AddOverflow(sum, r.AmountWei); overflow || r.AmountWei.IsZero() {
				t.Fatalf("a refund of %s", r.AmountWei.Dec())
			}
			name := fmt.Sprint(r.Hash, r.Recipient)
			if seen[name] {
				t.Fatalf("two refunds for %s", name)
			}
			seen[name] = true
		}
		if !division.ValueWei.Eq(value) || !sum.Eq(value) || division.RestWei.Gt(value) {
			t.Fatalf("value %s, counted %s; refunds and rest %s", value.Dec(), division.ValueWei.Dec(), sum.Dec())
		}
	})
}

// Who pays more gives more: no recipient gets less when one payment grows, but for the wei that
// rounding takes. Two shares inside a bundle may both grow by one where only one more was paid;
// then what is left of it, and what others get of that, is less by one. This holds without a cost;
// with one, what was delayed and whole may become paid at once and less.
func TestMorePaidIsMoreRefunded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLanded(t)
		before, err := Split(l)
		if err != nil {
			t.Fatal(err)
		}
		grown := rapid.IntRange(0, len(l.PaidWei)-1).Draw(t, "grown")
		l.PaidWei[grown] = new(uint256.Int).AddUint64(l.PaidWei[grown], rapid.Uint64().Draw(t, "by"))
		after, err := Split(l)
		if err != nil {
			t.Fatal(err)
		}
		rounding := uint256.NewInt(uint64(len(before.Refunds)))
		for _, r := range before.Refunds {
			if got := amountOf(after.Refunds, r); r.AmountWei.Gt(new(uint256.Int).Add(got, rounding)) {
				t.Fatalf("%x had %s for %x and has %s now", r.Recipient[:1], r.AmountWei.Dec(), r.Hash[:1], got.Dec())
			}
		}
	})
}

func amountOf(refunds []rpc.Refund, like rpc.Refund) *uint256.Int {
	for _, r := range refunds {
		if r.Hash == like.Hash && r.Recipient == like.Recipient {
			return r.AmountWei
		}
	}
	return new(uint256.Int)
}

// A base fee that no chain has is no reason to pay for nothing.
func TestPayoutCostSaturates(t *testing.T) {
	if got := PayoutCost(30_000, new(uint256.Int).SetAllOne()); !got.Eq(new(uint256.Int).SetAllOne()) {
		t.Errorf("cost %s", got.Dec())
	}
	if got := PayoutCost(21_000, uint256.NewInt(7)); got.Uint64() != 147_000 {
		t.Errorf("cost %s, want 147000", got.Dec())
	}
}
