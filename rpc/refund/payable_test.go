package refund

import (
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// TestPayable: bob's refunds go to carol.
func TestPayable(t *testing.T) {
	ninety := []rpc.ElementRefund{{Element: 0, Percent: 90}}
	all := func(to common.Address) []rpc.Share { return []rpc.Share{{Address: to, Percent: 100}} }
	for name, test := range map[string]struct{ order, want rpc.Bundle }{
		"nobody wants anything": {
			rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety},
			rpc.Bundle{Elements: []rpc.Element{tx(alice), tx(bob)}, Refunds: ninety},
		},
		"a transaction's sender": {
			rpc.Bundle{Elements: []rpc.Element{tx(bob), tx(alice)}, Refunds: ninety},
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{Elements: []rpc.Element{tx(bob)}, Shares: all(carol)}),
				tx(alice)}, Refunds: ninety},
		},
		"the first sender of an inner bundle": {
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{Elements: []rpc.Element{tx(bob)}}), tx(alice)}, Refunds: ninety},
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{Elements: []rpc.Element{tx(bob)}, Shares: all(carol)}),
				tx(alice)}, Refunds: ninety},
		},
		"shares, which become one": {
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{
				Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: bob, Percent: 30}, {Address: alice, Percent: 20},
					{Address: carol, Percent: 40}},
			}), tx(alice)}, Refunds: ninety},
			rpc.Bundle{Elements: []rpc.Element{inner(rpc.Bundle{
				Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: carol, Percent: 70},
					{Address: alice, Percent: 20}},
			}), tx(alice)}, Refunds: ninety},
		},
		"one who gets a part": {
			rpc.Bundle{Elements: []rpc.Element{
				inner(rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: alice, Percent: 60}}}),
				tx(alice)}, Refunds: ninety},
			rpc.Bundle{
				Elements: []rpc.Element{inner(rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Shares: all(alice)}), tx(alice)},
				Refunds:  []rpc.ElementRefund{{Element: 0, Percent: 54}},
			},
		},
		"one who gets a part that is no whole percentage": {
			rpc.Bundle{Elements: []rpc.Element{
				inner(rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: alice, Percent: 33}}}),
				tx(alice)}, Refunds: ninety},
			rpc.Bundle{Elements: []rpc.Element{
				inner(rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Shares: []rpc.Share{{Address: alice, Percent: 33}}}),
				tx(alice)}, Refunds: ninety},
		},
		"a chosen recipient": {
			rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Refunds: ninety, PaidBy: []int{0}, Shares: all(bob)},
			rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Refunds: ninety, PaidBy: []int{0}, Shares: all(carol)},
		},
		"a share without a refund": {
			rpc.Bundle{Elements: []rpc.Element{tx(alice)}, Shares: all(bob)}, rpc.Bundle{Elements: []rpc.Element{tx(alice)},
				Shares: all(bob)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			order := &rpc.Order{ID: 7, Bundle: test.order}
			got := Payable(order, toCarol)
			if want := (&rpc.Order{ID: 7, Bundle: test.want}); !reflect.DeepEqual(got, want) {
				t.Errorf("\ngot  %+v\nwant %+v", got, want)
			}
			if same := reflect.DeepEqual(test.order, test.want); same != (got == order) {
				t.Error("an order that is not another one is a copy, or one that is was changed")
			}
		})
	}
}

func toCarol(owner common.Address) common.Address {
	if owner == bob {
		return carol
	}
	return owner
}

// What the ledger credits for an order, with everybody's wishes, is what a builder pays who knows
// only the order that it was sent: to the wei, and with as many payouts.
func TestBuildersPayWhatIsCredited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLanded(t)
		l.CostWei = amounts(rapid.SampledFrom([]uint64{0, 1, 1 << 20}).Draw(t, "cost"))[0]
		wishes := map[common.Address]common.Address{}
		for range rapid.IntRange(0, 4).Draw(t, "wishes") {
			wishes[anyone(t)] = anyone(t)
		}
		wish := func(owner common.Address) common.Address {
			if to, has := wishes[owner]; has {
				return to
			}
			return owner
		}
		credited := l
		credited.Redirect = wish
		want, err := Split(credited)
		if err != nil {
			t.Fatal(err)
		}
		l.Order = Payable(l.Order, wish)
		got, err := Split(l)
		if err != nil {
			t.Fatal(err)
		}
		sums := func(d Division) map[common.Address]string {
			sums := map[common.Address]string{}
			for _, r := range d.Refunds {
				sum := amounts(0)[0]
				for _, other := range d.Refunds {
					if other.Recipient == r.Recipient {
						sum.Add(sum, other.AmountWei)
					}
				}
				sums[r.Recipient] = sum.Dec()
			}
			return sums
		}
		if !reflect.DeepEqual(sums(got), sums(want)) || !got.RestWei.Eq(want.RestWei) {
			t.Fatalf("the builder pays %v, credited is %v", told(got.Refunds), told(want.Refunds))
		}
	})
}
