package inclusion

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/rpc"
)

// Amounts are what the chain says, to the wei: 33 % of 1000 and 1 wei, rounded down.
func TestAmounts(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(5), pays(1000), pays(1))
	values := w.index(t, b, order(1, 33, alice, b, 1, 2), order(2, 0, bob, b, 0))
	if values[1].Uint64() != 1001 || values[2].Uint64() != 5 {
		t.Errorf("values %v", values)
	}
	w.want(t, "alice gets 330 of order 1; 100 is counted")
}

// A transaction that two orders have was paid once: it counts for the first of them.
func TestSharedTransaction(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000), pays(50))
	values := w.index(t, b, order(1, 50, alice, b, 0), order(2, 50, bob, b, 0, 1))
	if values[1].Uint64() != 1000 || values[2].Uint64() != 50 {
		t.Errorf("values %v", values)
	}
	w.want(t, "alice gets 500 of order 1; bob gets 25 of order 2; 100 is counted")
}

// The user of a private transaction that was followed gets 90 % of what the backrun paid, less the
// payout's gas, and nothing of what the transaction paid itself. It makes no difference that the
// searcher has sent the backrun as a bundle of its own too, before.
func TestMatchedOrder(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside a bundle of its own": true} {
		t.Run(name, func(t *testing.T) {
			w := newIndexer(func(cfg *Config) { cfg.PayoutGas = 100 })
			b := w.block(100, pays(7), pays(1001), sends(builder, alice, 800))
			plain, target, match := order(1, 0, bob, b, 1), order(2, 0, alice, b, 0), order(3, 90, bob, b, 1)
			target.Bundle.Shares, target.Bundle.Elements[0].Tx.From = nil, alice
			match.Follows, match.Bundle.PaidBy, match.Bundle.Shares = 2, nil, nil
			match.Bundle.Elements = []rpc.Element{{Bundle: &target.Bundle}, match.Bundle.Elements[0]}
			landed := []*rpc.Order{plain, target, match}
			if !beside {
				landed = landed[1:]
			}
			values := w.index(t, b, landed...)
			if values[2].Uint64() != 7 || values[3].Uint64() != 1001 || beside && !values[1].IsZero() {
				t.Errorf("values %v", values)
			}
			credit := w.facts[0].(rpc.RefundCredited)
			if credit.Hash != target.Hash() || credit.Bundle != match.Hash() {
				t.Errorf("%+v", credit)
			}
			w.want(t, "alice gets 800 of order 2; alice got it for order 2 in 100; 100 is counted") // 1001 × 90 % - 100
		})
	}
}

// A transaction that was left out paid nothing.
func TestDroppedTransaction(t *testing.T) {
	w := newIndexer(nil)
	elsewhere := w.block(1, pays(7000))
	b := w.block(100, pays(1000))
	o := order(1, 50, alice, b, 0)
	o.Bundle.Elements = append(o.Bundle.Elements,
		rpc.Element{Tx: &rpc.Transaction{Hash: elsewhere.Transactions()[0].Hash(), CanDrop: true}})
	o.Bundle.PaidBy = append(o.Bundle.PaidBy, 1)
	if values := w.index(t, b, o); values[1].Uint64() != 1000 {
		t.Errorf("values %v", values)
	}
	w.want(t, "alice gets 500 of order 1; 100 is counted")
}

// A payout costs gas, which comes off the refund; one that it would eat up is paid later, whole.
func TestPayoutGas(t *testing.T) {
	w := newIndexer(func(cfg *Config) { cfg.PayoutGas = 100 })
	b := w.block(100, pays(1000), pays(200))
	w.index(t, b, order(1, 50, alice, b, 0), order(2, 50, bob, b, 1))
	w.want(t, "alice gets 400 of order 1; bob gets 100 of order 2 later; 100 is counted")
}

func TestDelayedRefund(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000))
	o := order(1, 50, alice, b, 0)
	o.Bundle.DelayedRefund = true
	w.index(t, b, o)
	w.want(t, "alice gets 500 of order 1 later; 100 is counted")
}

// The refund of order 1, which is 500 for alice, is in the block after its order, or in a later
// one.
func TestPayouts(t *testing.T) {
	const owed, found = "alice gets 500 of order 1; ", "alice got it for order 1 in "
	none := []act(nil)
	for name, c := range map[string]struct {
		before, after, next []act
		want                string
	}{
		"in the block, after the order": {none, []act{sends(builder, alice, 500)}, none, owed + found +
			"100; 100 is counted; 101 is counted"},
		"not before it": {[]act{sends(builder, alice, 500)}, none, none, owed +
			"100 is counted; 101 is counted"},
		"in a later block": {none, none, []act{sends(builder, alice, 500)}, owed + "100 is counted; " +
			found + "101; 101 is counted"},
		"by the operator": {none, none, []act{sends(payer, alice, 500)}, owed + "100 is counted; " + found +
			"101; 101 is counted"},
		"not by a stranger": {none, []act{sends(bob, alice, 500)}, []act{sends(bob, alice, 500)}, owed +
			"100 is counted; 101 is counted"},
		"not to somebody else": {none, []act{sends(builder, bob, 500)}, none, owed +
			"100 is counted; 101 is counted"},
		"not too little": {none, none, []act{sends(builder, alice, 499)}, owed +
			"100 is counted; 101 is counted"},
		"not by a call, whatever it moves": {none, none, []act{{from: builder, to: alice, valueWei: 500, data: "x"}}, owed +
			"100 is counted; 101 is counted"},
		"not by a transfer that failed": {none, none, []act{{from: builder, to: alice, valueWei: 500, fails: true}}, owed +
			"100 is counted; 101 is counted"},
		"less its gas": {
			none, []act{{from: builder, to: alice, valueWei: 479, gas: 21}}, none, owed + found +
				"100; 100 is counted; 101 is counted",
		},
		"not less than its gas": {none, []act{{from: builder, to: alice, valueWei: 478, gas: 21}}, none, owed +
			"100 is counted; 101 is counted"},
		"once only": {
			none, []act{sends(builder, alice, 500)}, []act{sends(builder, alice, 500)}, owed + found +
				"100; 100 is counted; 101 is counted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newIndexer(nil)
			b := w.block(100, append(append(c.before, pays(1000)), c.after...)...)
			w.index(t, b, order(1, 50, alice, b, len(c.before)))
			w.index(t, w.block(101, c.next...))
			w.want(t, c.want)
		})
	}
}

// However much gas a payer reserves, a part of what is owed is not all of it.
func TestPayoutsGasIsBounded(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(200_000), act{from: builder, to: alice, valueWei: 49_999, gas: 1_000_000})
	w.index(t, b, order(1, 50, alice, b, 0))
	w.want(t, "alice gets 100000 of order 1; 100 is counted")
	w.index(t, w.block(101, act{from: builder, to: alice, valueWei: 50_000, gas: 1_000_000}))
	w.want(t, "alice got it for order 1 in 101; 101 is counted")
}

// Blocks without orders and without a transfer to somebody who waits are not executed: that is most
// of them.
func TestBlocksAreNotExecutedForNothing(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000))
	w.index(t, w.block(99, sends(builder, alice, 500)))
	w.index(t, b, order(1, 50, alice, b, 0))
	w.index(t, w.block(101, sends(builder, bob, 500), act{from: builder, to: alice, data: "x"}))
	w.index(t, w.block(102, sends(bob, alice, 1)))
	if len(w.asked) != 2 || w.asked[0] != 100 || w.asked[1] != 102 {
		t.Errorf("executed %v", w.asked)
	}
}

// Nothing that a chain can hold is in the way of a payout: a creation, which has no recipient, a
// value of more than 256 bits that nobody could have, a block without a base fee, and one of which
// fewer results came than it has transactions.
func TestOddTransactions(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000))
	w.index(t, b, order(1, 50, alice, b, 0))
	payout := w.block(101, sends(bob, alice, 1), sends(bob, alice, 2), sends(builder, alice, 500))
	results := w.did[payout.Hash()]
	huge := types.NewTx(&types.LegacyTx{To: &alice, Value: new(big.Int).Lsh(big.NewInt(1), 256)})
	odd := types.NewBlockWithHeader(&types.Header{Number: payout.Number(), Coinbase: builder}).WithBody(types.Body{
		Transactions: []*types.Transaction{types.NewTx(&types.LegacyTx{}), huge, payout.Transactions()[2], huge},
	})
	w.did[odd.Hash()] = results
	w.index(t, odd)
	w.want(t, "alice gets 500 of order 1; 100 is counted; alice got it for order 1 in 101; 101 is counted")
}

// The block of an order is taken back: its refunds never were. They come back with the block that
// the order lands in next.
func TestOrdersBlockIsReverted(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000), sends(builder, alice, 500))
	w.index(t, b, order(1, 50, alice, b, 0))
	w.revert(b)
	w.index(t, w.block(100, sends(builder, alice, 500)))
	again := w.block(101, pays(600))
	w.index(t, again, order(1, 50, alice, again, 0))
	w.index(t, w.block(102, sends(builder, alice, 300)))
	w.want(t, "alice gets 500 of order 1; alice got it for order 1 in 100; 100 is counted; 100 is taken back; 100 is "+
		"counted; "+
		"alice gets 300 of order 1; 101 is counted; alice got it for order 1 in 102; 102 is counted")
}

// Only the payout's block is taken back: the refund is pending again, and paid by a later transfer.
func TestPayoutsBlockIsReverted(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000))
	w.index(t, b, order(1, 50, alice, b, 0))
	payout := w.block(101, sends(builder, alice, 500))
	w.index(t, payout)
	w.revert(payout)
	w.index(t, w.block(101))
	w.index(t, w.block(102, sends(payer, alice, 500)))
	w.want(t, "alice gets 500 of order 1; 100 is counted; alice got it for order 1 in 101; 101 is counted; 101 is "+
		"taken back; 101 is counted; "+
		"alice got it for order 1 in 102; 102 is counted")
}

// A recipient's wish counts for refunds that are credited after it.
func TestRecipients(t *testing.T) {
	w := newIndexer(nil)
	first, second, third := w.block(100, pays(1000)), w.block(101, pays(1000)), w.block(102, pays(1000))
	w.index(t, first, order(1, 50, alice, first, 0))
	w.unkept = errors.New("the disk is full")
	if err := w.indexer.SetRecipient(noon, alice, bob); !errors.Is(err, w.unkept) {
		t.Errorf("a recipient that is not kept: %v", err)
	}
	w.unkept = nil
	w.index(t, second, order(2, 50, alice, second, 0))
	if err := w.indexer.SetRecipient(noon, bob, carol); err != nil { // does not go on to those who were sent to bob
		t.Error(err)
	}
	w.index(t, third, order(3, 50, alice, third, 0))
	w.want(t, "alice gets 500 of order 1; 100 is counted; alice's go to bob; bob gets 500 of order 2; 101 is counted; "+
		"bob's go to carol; "+
		"bob gets 500 of order 3; 102 is counted")
}

// Terms that cannot be kept are the order's own fault: the others get theirs, and the block is
// counted, since nothing will change that.
func TestTermsThatCannotBeKept(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000), pays(1000))
	values, err := w.indexer.Index(t.Context(), noon, b, []*rpc.Order{order(1, 101, alice, b, 0),
		order(2, 50, bob, b, 1)})
	if err == nil || values[1] != nil || values[2].Uint64() != 1000 {
		t.Errorf("values %v, %v", values, err)
	}
	w.want(t, "bob gets 500 of order 2; 100 is counted")
}

// While no block can be executed nothing is counted, and nothing claims to be: not even the blocks
// that nobody would have to execute. When it can be done all is made up for, in the order of the
// chain.
func TestNobodyExecutes(t *testing.T) {
	w := newIndexer(nil)
	before, b := w.block(99), w.block(100, pays(1000))
	w.index(t, before)
	w.down = true
	fails := func(block *types.Block, landed ...*rpc.Order) {
		t.Helper()
		if values, err := w.indexer.Index(t.Context(), noon, block, landed); err == nil || len(values) > 0 ||
			!strings.Contains(err.Error(), "execute block 100 again: nobody answers") {
			t.Errorf("values %v, %v", values, err)
		}
	}
	fails(b, order(1, 50, alice, b, 0))
	fails(w.block(101))
	fails(w.block(102, sends(builder, alice, 500)))
	w.want(t, "99 is counted")
	w.down = false
	last := w.block(103, pays(10))
	values := w.index(t, last, order(2, 50, bob, last, 0))
	if values[1].Uint64() != 1000 || values[2].Uint64() != 10 {
		t.Errorf("values %v", values)
	}
	w.want(t, "alice gets 500 of order 1; 100 is counted; 101 is counted; alice got it for order 1 in 102; 102 is "+
		"counted; bob gets 5 of order 2; 103 is counted")
}

// A block that waits and is taken back is never counted; the one in its place is.
func TestWaitingBlockIsReverted(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000))
	w.down = true
	if _, err := w.indexer.Index(t.Context(), noon, b, []*rpc.Order{order(1, 50, alice, b, 0)}); err == nil {
		t.Error("it was executed")
	}
	w.revert(b)
	w.down = false
	other := w.block(100, pays(8))
	w.index(t, other, order(1, 50, alice, other, 0))
	w.want(t, "100 is taken back; alice gets 4 of order 1; 100 is counted")
}

// After 64 blocks the oldest is given up, aloud, and those after it are counted.
func TestBlocksAreGivenUp(t *testing.T) {
	w := newIndexer(nil)
	w.down = true
	at := func(number uint64) string {
		b := w.block(number, pays(1000))
		_, err := w.indexer.Index(t.Context(), noon, b, []*rpc.Order{order(number, 50, alice, b, 0)})
		return err.Error()
	}
	for number := uint64(1); number <= maxWaiting; number++ {
		if text := at(number); strings.Contains(text, "not counted") {
			t.Fatalf("block %d: %s", number, text)
		}
	}
	if text := at(maxWaiting + 1); !strings.Contains(text,
		"block 1 is given up after 64 later ones: its refunds are not counted") {
		t.Error(text)
	}
	w.down = false
	w.index(t, w.block(maxWaiting+2))
	if text := w.takeFacts(); !strings.HasPrefix(text, "alice gets 500 of order 2; 2 is counted; ") ||
		!strings.HasSuffix(text, "; 66 is counted") {
		t.Error(text)
	}
}

// A block that an earlier life did not get to the end of is counted again. What it has credited
// then stands, and is owed once.
func TestCountedAgain(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, sends(builder, alice, 500), pays(1000), pays(1000), sends(builder, bob, 500))
	one, two := order(1, 50, alice, b, 1), order(2, 50, bob, b, 2)
	w.index(t, b, one, two)
	credited := w.facts[:2] // the journal ends before the payout
	w.facts = nil
	again := newIndexer(nil)
	again.did = w.did
	for _, fact := range credited {
		again.indexer.Apply(fact)
	}
	again.index(t, b, one, two)
	again.index(t, w.block(101))
	again.want(t, "bob got it for order 2 in 100; 100 is counted; 101 is counted")
}

// Payouts stay in memory for as long as they can be taken back.
func TestPaidIsForgotten(t *testing.T) {
	w := newIndexer(nil)
	b := w.block(100, pays(1000), sends(builder, alice, 500))
	w.index(t, b, order(1, 50, alice, b, 0))
	for number := uint64(101); number <= 100+paidKept; number++ {
		w.index(t, w.block(number))
	}
	if len(w.indexer.refunds.paid) != 1 {
		t.Error("forgotten too early")
	}
	w.index(t, w.block(101+paidKept))
	if len(w.indexer.refunds.paid) != 0 || len(w.indexer.refunds.pending) != 0 {
		t.Errorf("%+v", w.indexer.refunds)
	}
}

// The greatest base fee makes every payout too dear, and overflows nothing.
func TestDearestPayout(t *testing.T) {
	w := newIndexer(func(cfg *Config) { cfg.PayoutGas = math.MaxUint64 })
	b := w.block(100, pays(1000))
	w.index(t, b, order(1, 50, alice, b, 0))
	w.want(t, "alice gets 500 of order 1 later; 100 is counted")
}
