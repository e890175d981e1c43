package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/rpc"
)

// A refund is told when its block is indexed, pending first, and received when its payout was seen.
func TestARefundsLife(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		steps := []struct {
			fact          rpc.Fact
			refunds, sums string
		}{
			{credited(1, 5, 0, alice, wei(100)), "", "0 0 0"},
			{indexed(5, 0), "1:100", "100 0 5"},
			{credited(2, 6, 0, alice, wei(11)), "1:100", "100 0 5"},
			{credited(3, 6, 0, bob, wei(7)), "1:100", "100 0 5"},
			{indexed(6, 0), "1:100 2:11", "111 0 6"},
			{paid(1, 5, 0, alice, 7), "1:100+ 2:11", "111 0 6"}, // in a block that is not indexed yet
			{indexed(7, 0), "1:100+ 2:11", "11 100 7"},
			{paid(2, 6, 1, alice, 7), "1:100+ 2:11", "11 100 7"}, // a refund of another block of that number
			{paid(1, 5, 0, bob, 7), "1:100+ 2:11", "11 100 7"},   // another's
		}
		for n, step := range steps {
			record(t, l, step.fact)
			if got := refundsOf(t, l, noon, alice); got != step.refunds {
				t.Errorf("after step %d refunds %q, want %q", n, got, step.refunds)
			}
			totals, err := l.Totals(t.Context(), noon, alice)
			if got := totalsOf(t, totals, err); got != step.sums {
				t.Errorf("after step %d totals %q, want %q", n, got, step.sums)
			}
		}
	})
}

func TestRefundsComeBackWhole(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		want := rpc.RefundRecord{Refund: rpc.Refund{
			Hash: common.Hash{1, 31: 1}, Bundle: common.Hash{2, 31: 2}, Block: 5, BlockHash: head(5, 0).Hash, Recipient: alice,
			AmountWei: uint256.MustFromDecimal("340282366920938463463374607431768211455"), Delayed: true,
		}, Received: true, PayoutTx: common.Hash{3, 31: 3}, PayoutBlock: 6}
		record(t, l, rpc.RefundCredited{At: noon, Refund: want.Refund}, indexed(5, 0), rpc.RefundPaid{
			At: noon, Hash: want.Hash, Bundle: want.Bundle, Block: 5, BlockHash: want.BlockHash, Recipient: alice,
			PayoutTx: want.PayoutTx, PayoutBlock: 6,
		})
		page, err := l.ByRecipient(t.Context(), noon, alice, "", 10)
		if err != nil || len(page.Refunds) != 1 || page.UpTo != 5 {
			t.Fatal(page, err)
		}
		got := page.Refunds[0]
		if !got.AmountWei.Eq(want.AmountWei) {
			t.Errorf("amount %s, want %s", got.AmountWei.Dec(), want.AmountWei.Dec())
		}
		if got.AmountWei = want.AmountWei; got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// The first payout that was seen stands: another one later is not of this refund.
func TestTheFirstPayoutStands(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		record(t, l, credited(1, 5, 0, alice, wei(100)), indexed(5, 0), paid(1, 5, 0, alice, 5), paid(1, 5, 0, alice, 6))
		page, err := l.ByRecipient(t.Context(), noon, alice, "", 1)
		if got := told(t, page, err); got != "1:100+" || page.Refunds[0].PayoutBlock != 5 {
			t.Errorf("%+v, want it paid in block 5", page.Refunds)
		}
	})
}

// What is told twice is entered once: after a restart the service may tell of a block again.
func TestARefundIsCreditedOnce(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		for range 2 {
			record(t, l, credited(1, 5, 0, alice, wei(100)), indexed(5, 0), paid(1, 5, 0, alice, 5))
		}
		if got := refundsOf(t, l, noon, alice); got != "1:100+" {
			t.Errorf("refunds %q, want one", got)
		}
	})
}

// Two bundles that have followed one order in a block are two refunds, and each has its own payout.
func TestTwoBundlesFollowAnOrder(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		first, second := credited(1, 5, 0, alice, wei(10)), credited(1, 5, 0, alice, wei(20))
		first.Bundle, second.Bundle = common.Hash{2}, common.Hash{3}
		payout := paid(1, 5, 0, alice, 5).(rpc.RefundPaid)
		payout.Bundle = second.Bundle
		record(t, l, first, second, payout, indexed(5, 0))
		if got := refundsOf(t, l, noon, alice); got != "1:10 1:20+" {
			t.Errorf("refunds %q, want two, the second paid", got)
		}
	})
}

// A service that starts again asks which refunds wait for their payouts.
func TestPending(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		for n := range uint64(4) {
			record(t, l, credited(byte(n+1), n+1, 0, alice, wei(n+1)), indexed(n+1, 0))
		}
		record(t, l, paid(3, 3, 0, alice, 4), credited(5, 5, 0, alice, wei(5)))
		for from, want := range map[uint64]string{0: "1 2 4", 2: "2 4", 3: "4", 5: "", 1<<64 - 1: ""} {
			var got []string
			list, err := l.Pending(t.Context(), from)
			for _, r := range list {
				got = append(got, r.AmountWei.Dec())
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("pending from block %d: %v, %v, want %s", from, got, err, want)
			}
		}
	})
}

// A block that is reverted takes its refunds with it, and lets those be pending again whose payouts
// were seen in it.
func TestARevertTakesBack(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		steps := []struct {
			facts         []rpc.Fact
			refunds, sums string
		}{
			{[]rpc.Fact{credited(1, 5, 0, alice, wei(100)), indexed(5, 0)}, "1:100", "100 0 5"},
			{[]rpc.Fact{credited(2, 6, 0, alice, wei(10)), paid(2, 6, 0, alice, 6), paid(1, 5, 0, alice, 6), indexed(6, 0)},
				"1:100+ 2:10+", "0 110 6"},
			{[]rpc.Fact{reverted(6, 0)}, "1:100", "100 0 5"},
			{[]rpc.Fact{reverted(6, 0)}, "1:100", "100 0 5"}, // told again
			{[]rpc.Fact{credited(3, 6, 1, alice, wei(1)), paid(1, 5, 0, alice, 6), indexed(6, 1)}, "1:100+ 3:1", "1 100 6"},
			{[]rpc.Fact{reverted(6, 0)}, "1:100+ 3:1", "1 100 6"}, // long gone
			{[]rpc.Fact{credited(4, 7, 1, alice, wei(2)), indexed(7, 1)}, "1:100+ 3:1 4:2", "3 100 7"},
			{[]rpc.Fact{reverted(6, 1)}, "1:100", "100 0 5"}, // the higher one stands no longer either
			{[]rpc.Fact{reverted(7, 1)}, "1:100", "100 0 5"},
			{[]rpc.Fact{credited(3, 6, 2, alice, wei(1)), indexed(6, 2), indexed(7, 2)}, "1:100 3:1", "101 0 7"},
		}
		for n, step := range steps {
			record(t, l, step.facts...)
			if got := refundsOf(t, l, noon, alice); got != step.refunds {
				t.Errorf("after step %d refunds %q, want %q", n, got, step.refunds)
			}
			totals, err := l.Totals(t.Context(), noon, alice)
			if got := totalsOf(t, totals, err); got != step.sums {
				t.Errorf("after step %d totals %q, want %q", n, got, step.sums)
			}
		}
	})
}

// Details wait until a block is old enough, by its own time; totals change at the multiples of
// their period only.
func TestDelays(t *testing.T) {
	cfg := Config{EarliestBlock: 2, DetailsDelay: 24 * time.Second, TotalsEvery: time.Minute}
	onEach(t, cfg, func(t *testing.T, l *Ledger) {
		for n := range uint64(10) {
			record(t, l, credited(byte(n+1), n+1, 0, alice, wei(1)), indexed(n+1, 0))
		}
		record(t, l, paid(1, 1, 0, alice, 3), paid(2, 2, 0, alice, 8))
		for _, test := range []struct {
			at            time.Duration
			refunds, sums string
		}{
			{0, "", "0 0 0"},
			{35 * time.Second, "", "0 0 0"},
			{48 * time.Second, "2:1+", "0 0 0"}, // block 1 is before the earliest
			// at noon and a minute block 5 came; the totals do not know the payout in block 8
			{60 * time.Second, "2:1+ 3:1", "4 1 5"},
			{119 * time.Second, "2:1+ 3:1 4:1 5:1 6:1 7:1", "4 1 5"},
			{120 * time.Second, "2:1+ 3:1 4:1 5:1 6:1 7:1 8:1", "8 2 10"},
		} {
			at := blockTime(0).Add(test.at)
			if got := refundsOf(t, l, at, alice); got != test.refunds {
				t.Errorf("after %v refunds %q, want %q", test.at, got, test.refunds)
			}
			totals, err := l.Totals(t.Context(), at, alice)
			if got := totalsOf(t, totals, err); got != test.sums {
				t.Errorf("after %v totals %q, want %q", test.at, got, test.sums)
			}
		}
		page, err := l.ByBundle(t.Context(), blockTime(4), common.Hash{1}, "", 10)
		if got := told(t, page, err); got != "1:1+" || page.UpTo != 2 {
			t.Errorf("by bundle %q up to %d, want 1:1+ up to 2: the earliest block is ByRecipient's only", got, page.UpTo)
		}
	})
}

// Sums are exact where 64 bits end, and the database's numbers with them.
func TestTotalsAreExact(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		great := uint256.MustFromDecimal("18446744073709551617") // 2^64 + 1
		want := new(uint256.Int)
		var facts []rpc.Fact
		for n := range 100 {
			amount := new(uint256.Int).Add(great, wei(uint64(n)*4294967295))
			want.Add(want, amount)
			facts = append(facts, credited(byte(n+1), 5, 0, alice, amount))
		}
		record(t, l, append(facts, credited(1, 5, 0, bob, uint256.MustFromDecimal("340282366920938463463374607431768211455")),
			credited(2, 5, 0, bob, uint256.MustFromDecimal("340282366920938463463374607431768211455")), indexed(5, 0))...)
		totals, err := l.Totals(t.Context(), noon, alice)
		if got := totalsOf(t, totals, err); got != want.Dec()+" 0 5" {
			t.Errorf("totals %s, want %s 0 5", got, want.Dec())
		}
		totals, err = l.Totals(t.Context(), noon, bob)
		if got := totalsOf(t, totals, err); got != "680564733841876926926749214863536422910 0 5" {
			t.Errorf("totals %s, want twice the greatest amount", got)
		}
	})
}

// A bundle's refunds are those it brought and those it got; a block's are its own.
func TestByBundleAndByBlock(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		followed := credited(1, 5, 0, alice, wei(10))
		followed.Bundle = common.Hash{2}
		record(t, l, followed, credited(2, 5, 0, bob, wei(20)), credited(3, 6, 0, alice, wei(30)), indexed(5, 0),
			indexed(6, 0))
		for order, want := range map[byte]string{1: "1:10", 2: "1:10 2:20", 3: "3:30", 4: "", 0: ""} {
			page, err := l.ByBundle(t.Context(), noon, common.Hash{order}, "", 10)
			if got := told(t, page, err); got != want {
				t.Errorf("order %d: %q, want %q", order, got, want)
			}
		}
		for number, want := range map[uint64]string{4: "", 5: "1:10 2:20", 6: "3:30", 1<<64 - 1: ""} {
			page, err := l.ByBlock(t.Context(), noon, number, "", 10)
			if got := told(t, page, err); got != want {
				t.Errorf("block %d: %q, want %q", number, got, want)
			}
		}
	})
}

// Delayed refunds have their own lists. A range whose end is not indexed yet is never finished.
func TestDelayed(t *testing.T) {
	onEach(t, Config{DetailsDelay: time.Hour, TotalsEvery: time.Hour, EarliestBlock: 100}, func(t *testing.T, l *Ledger) {
		by := credited(5, 6, 0, alice, wei(50))
		by.Bundle = common.Hash{9}
		record(t, l,
			late(credited(1, 5, 0, alice, wei(10))), credited(2, 5, 0, alice, wei(20)), late(credited(3, 5, 0, bob, wei(30))),
			indexed(5, 0),
			late(credited(4, 6, 0, alice, wei(40))), late(by), paid(1, 5, 0, alice, 6), indexed(6, 0),
		)
		block := func(number uint64) *uint64 { return &number }
		hash := func(order byte) *common.Hash { return &common.Hash{order} }
		for name, test := range map[string]struct {
			query         rpc.DelayedQuery
			refunds, sums string
		}{
			"all":  {rpc.DelayedQuery{}, "1:10+ 4:40 5:50", "90 10 6"},
			"from": {rpc.DelayedQuery{FromBlock: block(6)}, "4:40 5:50", "90 0 6"},
			"to":   {rpc.DelayedQuery{ToBlock: block(5)}, "1:10+", "0 10 6"},
			"both are inclusive": {rpc.DelayedQuery{FromBlock: block(5), ToBlock: block(6)},
				"1:10+ 4:40 5:50", "90 10 6"},
			"hash":                   {rpc.DelayedQuery{FromBlock: block(5), ToBlock: block(6), Hash: hash(4)}, "4:40", ""},
			"hash of a bundle":       {rpc.DelayedQuery{FromBlock: block(5), ToBlock: block(6), Hash: hash(9)}, "5:50", ""},
			"not indexed to the end": {rpc.DelayedQuery{ToBlock: block(7)}, "1:10+ 4:40 5:50 …", "90 10 6"},
			"not indexed at all":     {rpc.DelayedQuery{FromBlock: block(7), ToBlock: block(8)}, "…", "0 0 6"},
			"the end of all numbers": {rpc.DelayedQuery{FromBlock: block(1<<64 - 1), ToBlock: block(1<<64 - 1)},
				"…", "0 0 6"},
			"open, and nothing is there": {rpc.DelayedQuery{FromBlock: block(7)}, "", "0 0 6"},
		} {
			test.query.Recipient = alice
			page, err := l.Delayed(t.Context(), test.query, "", 10)
			if got := told(t, page, err); got != test.refunds || page.UpTo != 6 {
				t.Errorf("%s: %q up to %d, want %q up to 6", name, got, page.UpTo, test.refunds)
			}
			if test.query.Hash != nil {
				continue
			}
			totals, err := l.DelayedTotals(t.Context(), alice, test.query.FromBlock, test.query.ToBlock)
			if got := totalsOf(t, totals, err); got != test.sums {
				t.Errorf("%s: totals %q, want %q", name, got, test.sums)
			}
		}
		for name, query := range map[string]rpc.DelayedQuery{
			"upside down": {FromBlock: block(6), ToBlock: block(5)}, "hash alone": {Hash: hash(1)},
			"hash and from": {Hash: hash(1), FromBlock: block(5)}, "hash and to": {Hash: hash(1), ToBlock: block(5)},
		} {
			if _, err := l.Delayed(t.Context(), query, "", 10); !isRefused(err, rpc.InvalidRange) {
				t.Errorf("%s: %v, want %s", name, err, rpc.InvalidRange.ID)
			}
		}
		if _, err := l.DelayedTotals(t.Context(), alice, block(6), block(5)); !isRefused(err, rpc.InvalidRange) {
			t.Errorf("totals: %v, want %s", err, rpc.InvalidRange.ID)
		}
	})
}

func isRefused(err error, want rpc.Refusal) bool {
	refused := (*rpc.Refused)(nil)
	return errors.As(err, &refused) && refused.ID == want.ID
}

// What an address sets holds from its place in the journal on, until it sets something else.
func TestRecipientsHaveAHistory(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		carol := common.Address{0xcc}
		record(t, l, indexed(1, 0), rpc.RecipientSet{At: noon, From: alice, To: bob}, indexed(2, 0),
			rpc.RecipientSet{At: noon, From: alice, To: carol},
			rpc.RecipientSet{At: noon, From: bob, To: alice}, rpc.RecipientSet{At: noon, From: bob, To: bob})
		for _, test := range []struct {
			from common.Address
			seq  uint64
			want common.Address
		}{
			{alice, 1, alice}, {alice, 2, alice}, {alice, 3, bob}, {alice, 4, bob}, {alice, 5, carol}, {alice, 1<<64 - 1, carol},
			{bob, 5, bob}, {bob, 6, alice}, {bob, 7, bob}, {carol, 7, carol},
		} {
			if got, err := l.RecipientAt(t.Context(), test.from, test.seq); err != nil || got != test.want {
				t.Errorf("refunds of %x at %d go to %x, %v, want %x", test.from[0], test.seq, got[0], err, test.want[0])
			}
		}
		if got, err := l.Recipient(t.Context(), alice); err != nil || got != carol {
			t.Errorf("refunds of alice go to %x now, %v, want carol", got[0], err)
		}
	})
}

// Facts without what their rows need are passed over, and counted.
func TestUnreadableFactsAreSkipped(t *testing.T) {
	l := openAt(t, "sqlite::memory:", Config{})
	err := l.Apply(t.Context(), []projection.Entry{
		{Seq: 1, Subject: "rpc.refund_credited", Data: []byte(`{`)},
		{Seq: 2, Subject: "rpc.refund_credited", Data: []byte(`{}`)},
		{Seq: 3, Subject: "rpc.refund_credited", Data: []byte(`{"amount":"0x1` + strings.Repeat("0", 32) + `"}`)},
		{Seq: 4, Subject: "rpc.order_ended", Data: []byte(`{}`)},
		{Seq: 5, Subject: "rpc.call_simulated", Data: []byte(`{`)}, // has no projection
	})
	if last, failed := l.Last(t.Context()); err != nil || failed != nil || last != 5 || l.Skipped() != 4 {
		t.Errorf("%v, progress %d, %v, %d skipped, want 5 and 4", err, last, failed, l.Skipped())
	}
}

// The ledger goes on after a restart, and facts that come again change nothing.
func TestTheLedgerSurvivesARestart(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	for _, want := range []string{"1:100", "1:100 2:100"} {
		l, err := Open(t.Context(), address, Config{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		number, err := l.IndexedUpTo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		record(t, l, credited(byte(number+1), number+1, 0, alice, wei(100)), indexed(number+1, 0))
		if got := refundsOf(t, l, noon, alice); got != want {
			t.Errorf("refunds %q, want %q", got, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Until the server has answered, every question is refused as one that may be repeated.
func TestBeforeTheServerAnswers(t *testing.T) {
	l, err := Open(t.Context(), "postgres://127.0.0.1:1/gavel", Config{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, ask := range map[string]func() error{
		"last":      func() error { _, err := l.Last(t.Context()); return err },
		"indexed":   func() error { _, err := l.IndexedUpTo(t.Context()); return err },
		"recipient": func() error { _, err := l.Recipient(t.Context(), alice); return err },
		"pending":   func() error { _, err := l.Pending(t.Context(), 0); return err },
		"list":      func() error { _, err := l.ByRecipient(t.Context(), noon, alice, "", 1); return err },
		"delayed":   func() error { _, err := l.Delayed(t.Context(), rpc.DelayedQuery{}, "", 1); return err },
		"totals":    func() error { _, err := l.Totals(t.Context(), noon, alice); return err },
		"order":     func() error { _, err := l.Order(t.Context(), common.Hash{1}, alice); return err },
		"apply":     func() error { return l.Apply(t.Context(), nil) },
	} {
		if err := ask(); !isRefused(err, rpc.NotReady) || !errors.Is(err, projection.ErrNotReady) {
			t.Errorf("%s: %v, want %s", name, err, rpc.NotReady.ID)
		}
	}
}

// What followed orders brought is summed up for whoever has it and for whose orders they were; what
// a bundle gave back of its own payment is in no such sum. Facts of earlier versions have no
// sender.
func TestMevTotals(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		followed := func(order byte, to, sender common.Address, amount uint64) rpc.RefundCredited {
			fact := credited(order, 5, 0, to, wei(amount))
			fact.Bundle, fact.Sender = common.Hash{0xb0, order}, sender
			return fact
		}
		payout := paid(1, 5, 0, alice, 5).(rpc.RefundPaid)
		payout.Bundle = common.Hash{0xb0, 1}
		own := credited(4, 5, 0, alice, wei(1000))
		own.Sender = bob
		record(t, l, followed(1, alice, bob, 100), followed(2, alice, alice, 20), followed(3, alice, common.Address{}, 3),
			own, payout, indexed(5, 0))
		for _, row := range []struct {
			name   string
			totals func(context.Context, time.Time, common.Address) (rpc.RefundTotals, error)
			who    common.Address
			want   string
		}{
			{"alice has", l.MevTotals, alice, "23 100 5"}, {"bob has", l.MevTotals, bob, "0 0 5"},
			{"bob's orders", l.MevTotalsOfSender, bob, "0 100 5"}, {"alice's orders", l.MevTotalsOfSender, alice, "20 0 5"},
			{"nobody's orders", l.MevTotalsOfSender, common.Address{}, "0 0 5"},
			{"all that alice has", l.Totals, alice, "1023 100 5"},
		} {
			totals, err := row.totals(t.Context(), noon, row.who)
			if got := totalsOf(t, totals, err); got != row.want {
				t.Errorf("%s: %s, want %s", row.name, got, row.want)
			}
		}
	})
}
