package rpc

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/devnet/network"
)

// privateRefunds: the shares of a backrun's value that blocks pay to the addresses that a private
// transaction names.
func privateRefunds(s *suite.Set) {
	s.It("RPC-PRI-18", "gives one address its percentage of the whole", func(t *suite.T) {
		one := fresh(t)
		b := followed(t, named(object{"address": one.Hex(), "percent": 61}))
		b.getsPercent(t, one, 61, 1)
		b.gets(t, b.owner.address(), new(big.Int))
	})
	s.It("RPC-PRI-18", "gives two addresses their percentages, and keeps the rest", func(t *suite.T) {
		one, other := fresh(t), fresh(t)
		b := followed(t, named(object{"address": one.Hex(), "percent": 57}, object{"address": other.Hex(), "percent": 23}))
		b.getsPercent(t, one, 57, 2)
		b.getsPercent(t, other, 23, 2)
		b.gets(t, b.owner.address(), new(big.Int))
	})
}

// named makes orders for followed: a private transaction with a hint, whose refunds go to these
// addresses.
func named(refund ...object) func(*suite.T, string) (string, object) {
	return func(_ *suite.T, tx string) (string, object) {
		return "eth_sendPrivateTransaction", object{"tx": tx, "preferences": object{
			"fast": false, "privacy": object{"hints": []string{"hash"}}, "validity": object{"refund": refund},
		}}
	}
}

// getsPercent fails the spec unless an account has received a percentage of the backrun's value.
// The description does not say who pays for the payouts to all sharers. So the account may have
// received less, by at most the cost of all of them.
func (b *backrun) getsPercent(t *suite.T, who common.Address, percent, sharers int64) {
	most := percentOf(b.valueWei, percent)
	least := new(big.Int).Mul(b.baseFee, big.NewInt(network.PayoutGas*sharers))
	least.Sub(most, least)
	got := balance(t, who, b.at.Block)
	got.Sub(got, balance(t, who, b.at.Block-1))
	t.Check(got.Cmp(least) >= 0 && got.Cmp(most) <= 0, fmt.Sprintf("%s to %s wei for %s: %d %% of a backrun that paid %s",
		least, most, who, percent, b.valueWei), got)
}
