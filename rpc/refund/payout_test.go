package refund

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

var (
	noon    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	builder = common.Address{0xfe}
)

// owed is a refund of the block 100; its hash is its place among the pending ones, from 1.
func owed(to common.Address, amount uint64, after int) Pending {
	return Pending{Refund: rpc.Refund{Block: 100, BlockHash: block.Hash, Recipient: to, AmountWei: uint256.NewInt(amount)},
		After: after}
}

// sent is a transfer of the builder; its hash is its index.
func sent(index int, to common.Address, value uint64) Transfer {
	return Transfer{Hash: common.Hash{byte(index)}, From: builder, To: to, ValueWei: uint256.NewInt(value), Index: index}
}

// costing is a transfer that cost something.
func costing(wei uint64, t Transfer) Transfer {
	t.CostWei = uint256.NewInt(wei)
	return t
}

// paid are payouts as "refund by transfer".
func paid(list []rpc.RefundPaid) string {
	var all []string
	for _, p := range list {
		all = append(all, fmt.Sprintf("%d by %d", p.Hash[0], p.PayoutTx[0]))
	}
	return strings.Join(all, ", ")
}

func TestPayouts(t *testing.T) {
	later := rpc.Head{Number: 101, Hash: common.Hash{0xb2}}
	sibling := rpc.Head{Number: 100, Hash: common.Hash{0xb3}}
	for name, test := range map[string]struct {
		head      rpc.Head
		pending   []Pending
		transfers []Transfer
		cost      uint64
		want      string
	}{
		"in the block, after the order": {block, []Pending{owed(alice, 100, 4)}, []Transfer{sent(5, alice, 100)},
			0, "1 by 5"},
		"not before the order": {block, []Pending{owed(alice, 100, 4)}, []Transfer{sent(3, alice, 100)}, 0,
			""},
		"in a later block, anywhere": {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, alice, 100)},
			0, "1 by 0"},
		"not in another block of that number": {sibling, []Pending{owed(alice, 100, 4)}, []Transfer{sent(5, alice, 100)}, 0,
			""},
		"not from a stranger": {
			later, []Pending{owed(alice, 100, 4)}, []Transfer{{From: bob, To: alice, ValueWei: uint256.NewInt(100)}}, 0, "",
		},
		"not to another":        {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, bob, 100)}, 0, ""},
		"not too little":        {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, alice, 99)}, 0, ""},
		"less the cost":         {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, alice, 79)}, 21, "1 by 0"},
		"not less than that":    {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, alice, 78)}, 21, ""},
		"small ones come whole": {later, []Pending{owed(alice, 20, 4)}, []Transfer{sent(0, alice, 1)}, 21, ""},
		"less its own cost": {later, []Pending{owed(alice, 100, 4)}, []Transfer{costing(21, sent(0, alice, 79))},
			0, "1 by 0"},
		"less its own, the greater": {later, []Pending{owed(alice, 100, 4)}, []Transfer{costing(21, sent(0, alice, 79))},
			9, "1 by 0"},
		"not less than its own": {later, []Pending{owed(alice, 100, 4)}, []Transfer{costing(21, sent(0, alice, 78))}, 0,
			""},
		"what its own cost eats up": {later, []Pending{owed(alice, 20, 4)}, []Transfer{costing(21, sent(0, alice, 1))}, 0,
			""},
		"a sum less its cost": {
			later, []Pending{owed(alice, 50, 4), owed(alice, 100, 4), owed(alice, 30, 4)},
			[]Transfer{costing(21, sent(0, alice, 129))}, 0, "1 by 0, 2 by 0",
		},
		"one that is short before a sum": {
			later, []Pending{owed(alice, 50, 4), owed(alice, 50, 4), owed(alice, 110, 4)},
			[]Transfer{costing(21, sent(0, alice, 95))}, 0, "3 by 0",
		},
		"more than was owed": {later, []Pending{owed(alice, 100, 4)}, []Transfer{sent(0, alice, 150)}, 0, "1 by 0"},
		"one transfer, one paid": {later, []Pending{owed(alice, 100, 4), owed(alice, 100, 4)},
			[]Transfer{sent(0, alice, 100)}, 0, "1 by 0"},
		"exact ones first": {
			later, []Pending{owed(alice, 50, 4), owed(alice, 100, 4)}, []Transfer{sent(0, alice, 100), sent(1, alice, 60)}, 0,
			"1 by 1, 2 by 0",
		},
		"a sum": {
			later, []Pending{owed(alice, 50, 4), owed(bob, 7, 4), owed(alice, 100, 4), owed(alice, 30, 4)},
			[]Transfer{sent(0, alice, 130)}, 0,
			"3 by 0, 4 by 0",
		},
		"a sum of what may be paid": {
			block, []Pending{owed(alice, 50, 2), owed(alice, 100, 9), owed(alice, 30, 3)}, []Transfer{sent(5, alice, 80)}, 0,
			"1 by 5, 3 by 5",
		},
		"the greatest that is covered": {
			later, []Pending{owed(alice, 50, 4), owed(alice, 90, 4), owed(alice, 120, 4)}, []Transfer{sent(0, alice, 110)}, 0,
			"2 by 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range test.pending {
				test.pending[i].Hash, test.pending[i].Bundle = common.Hash{byte(i + 1)}, backrun
			}
			got := Payouts(noon, test.pending, Block{
				Head: test.head, Transfers: test.transfers, Payers: []common.Address{builder}, CostWei: uint256.NewInt(test.cost),
			})
			if paid(got) != test.want {
				t.Errorf("got %q, want %q", paid(got), test.want)
			}
			for _, p := range got {
				if !p.At.Equal(noon) || p.PayoutBlock != test.head.Number || p.Block != 100 || p.BlockHash != block.Hash ||
					p.Bundle != backrun {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// Every transfer pays one refund that it covers, or several that are its value or what it cost
// more; and every refund is paid once.
func TestPayoutsPayOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		people := []common.Address{alice, bob}
		var pending []Pending
		for i := range rapid.IntRange(0, 12).Draw(t, "refunds") {
			p := owed(rapid.SampledFrom(people).Draw(t, "to"), rapid.Uint64Range(1, 12).Draw(t, "amount"),
				rapid.IntRange(0, 8).Draw(t, "after"))
			p.Hash = common.Hash{byte(i + 1)}
			pending = append(pending, p)
		}
		var transfers []Transfer
		own := rapid.Uint64Range(0, 3).Draw(t, "own cost")
		for i := range rapid.IntRange(0, 8).Draw(t, "transfers") {
			transfer := sent(i, rapid.SampledFrom(people).Draw(t, "to"), rapid.Uint64Range(0, 30).Draw(t, "value"))
			transfer.CostWei = uint256.NewInt(own)
			transfers = append(transfers, transfer)
		}
		cost := uint256.NewInt(rapid.Uint64Range(0, 3).Draw(t, "cost"))
		found := Payouts(noon, pending, Block{Head: block, Transfers: transfers, Payers: []common.Address{builder},
			CostWei: cost})
		refunds, sums, parts := map[byte]bool{}, map[byte]uint64{}, map[byte]int{}
		for _, p := range found {
			refund, by := pending[p.Hash[0]-1], transfers[p.PayoutTx[0]]
			if refunds[p.Hash[0]] || by.To != refund.Recipient || by.Index <= refund.After || by.ValueWei.IsZero() {
				t.Fatalf("%s by %+v", refund.Hash, by)
			}
			refunds[p.Hash[0]] = true
			sums[p.PayoutTx[0]] += refund.AmountWei.Uint64()
			parts[p.PayoutTx[0]]++
		}
		for by, sum := range sums {
			value := transfers[by].ValueWei.Uint64()
			if parts[by] > 1 && sum < value || value+max(cost.Uint64(), own) < sum {
				t.Fatalf("%d wei pay %d refunds of %d wei together", value, parts[by], sum)
			}
		}
	})
}
