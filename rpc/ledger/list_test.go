package ledger

import (
	"database/sql"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/rpc"
)

// chain makes blocks with refunds, each refund told by its amount.
type chain struct {
	number, refunds uint64
}

// next are the facts of the next block, with some refunds for an address and some for others.
func (c *chain) next(to common.Address, count int) (facts []rpc.Fact, amounts []uint64) {
	c.number++
	for range count {
		c.refunds++
		one := credited(0, c.number, 0, to, wei(c.refunds))
		binary.BigEndian.PutUint64(one.Hash[8:], c.refunds)
		other := one
		other.Recipient = bob
		facts = append(facts, late(one), other)
		amounts = append(amounts, c.refunds)
	}
	return append(facts, indexed(c.number, 0)), amounts
}

// Blocks come while a client turns pages: it sees each row once, the oldest first, and all that
// were there when it got the last page.
func TestPagesAreStable(t *testing.T) {
	for kind, address := range map[string]string{"sqlite": "sqlite::memory:",
		"postgres": projectiontest.StartPostgres(t).Database(t)} {
		t.Run(kind, func(t *testing.T) {
			l, c, clients := openAt(t, address, Config{}), &chain{}, uint64(0)
			rapid.Check(t, func(r *rapid.T) {
				clients++
				var me common.Address // a new one each time: the ledger of the last check stays
				binary.BigEndian.PutUint64(me[8:], clients)
				var want []uint64
				grow := func() {
					facts, amounts := c.next(me, rapid.IntRange(0, 5).Draw(r, "refunds"))
					record(t, l, facts...)
					want = append(want, amounts...)
				}
				ask := anyList(r, l, me)
				for range rapid.IntRange(0, 4).Draw(r, "before") {
					grow()
				}
				var got []uint64
				for cursor := ""; ; {
					limit := rapid.IntRange(1, 4).Draw(r, "limit")
					page, err := ask(cursor, limit)
					if err != nil || len(page.Refunds) > limit {
						r.Fatalf("%d refunds of %d at most, %v", len(page.Refunds), limit, err)
					}
					for _, one := range page.Refunds {
						got = append(got, one.AmountWei.Uint64())
					}
					if cursor = page.Cursor; cursor == "" || len(got) > len(want) {
						break
					}
					if len(page.Refunds) == 0 {
						r.Fatalf("an empty page with a cursor after %v", got)
					}
					if len(want) < 40 && rapid.Bool().Draw(r, "grow") {
						grow()
					}
				}
				if !slices.Equal(got, want) {
					r.Fatalf("seen %v, want %v", got, want)
				}
			})
		})
	}
}

// anyList is one of the lists that have all refunds for an address.
func anyList(r *rapid.T, l *Ledger, me common.Address) func(cursor string, limit int) (rpc.RefundPage, error) {
	if rapid.Bool().Draw(r, "delayed") {
		return func(cursor string, limit int) (rpc.RefundPage, error) {
			return l.Delayed(r.Context(), rpc.DelayedQuery{Recipient: me}, cursor, limit)
		}
	}
	return func(cursor string, limit int) (rpc.RefundPage, error) {
		return l.ByRecipient(r.Context(), noon, me, cursor, limit)
	}
}

// The cursor of a range that is not indexed to its end goes on where the range did, and ends with
// it.
func TestAnUnfinishedRangeGoesOn(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		query := rpc.DelayedQuery{Recipient: alice, FromBlock: new(uint64(2)), ToBlock: new(uint64(3))}
		cursor := ""
		for n, want := range []string{"…", "2:1 …", "3:1"} {
			number := uint64(n + 1)
			record(t, l, late(credited(byte(number), number, 0, alice, wei(1))), indexed(number, 0))
			page, err := l.Delayed(t.Context(), query, cursor, 10)
			if got := told(t, page, err); got != want {
				t.Errorf("at block %d %q, want %q", number, got, want)
			}
			cursor = page.Cursor
		}
	})
}

// Every list finds its rows by an index, in the order in which they are told; only what a bundle's
// hash has found, a handful, is sorted.
func TestListsUseAnIndex(t *testing.T) {
	l := openAt(t, "sqlite::memory:", Config{})
	recipient, bundle, block := listing{from: 5, to: 9, upTo: 9}, listing{to: 9, upTo: 9}, listing{from: 5, to: 5, upTo: 9}
	recipient.addCondition("recipient = ?", alice[:])
	bundle.addCondition("(hash = ? OR bundle = ?)", alice[:], alice[:])
	five := uint64(5)
	for name, test := range map[string]struct {
		list listing
		want string
	}{
		"recipient": {recipient, "SEARCH refunds USING INDEX refunds_recipient (recipient=? AND block>? AND block<?)"},
		"block":     {block, "SEARCH refunds USING INDEX refunds_block (block>? AND block<?)"},
		"bundle":    {bundle, "MULTI-INDEX OR"},
		"delayed": {delayed(rpc.DelayedQuery{Recipient: alice}),
			"SEARCH refunds USING INDEX refunds_delayed (recipient=? AND block>? AND block<?)"},
		"range": {
			delayed(rpc.DelayedQuery{Recipient: alice, FromBlock: &five, ToBlock: &five}),
			"SEARCH refunds USING INDEX refunds_delayed (recipient=? AND block>? AND block<?)",
		},
	} {
		query, args := test.list.statement(position{5, 7}, 10)
		if steps := plan(t, l, query, args); !strings.HasPrefix(steps[0], test.want) || name != "bundle" && len(steps) > 1 {
			t.Errorf("%s:\n%s\nwant %s", name, strings.Join(steps, "\n"), test.want)
		}
	}
}

// plan is what SQLite is going to do, a line for each step.
func plan(t *testing.T, l *Ledger, query string, args []any) (steps []string) {
	t.Helper()
	err := l.projection.Each(t.Context(), func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil || len(steps) == 0 {
		t.Fatalf("no plan: %v", err)
	}
	return steps
}

// BenchmarkPages turns all pages of 100,000 refunds of one address, 500 a page: the time of a page,
// how many times longer the second half takes than the first, and how many pages take as long as
// the totals.
func BenchmarkPages(b *testing.B) {
	const blocks, inBlock, limit = 2000, 50, 500
	for kind, address := range map[string]string{
		"sqlite":   "sqlite:" + filepath.Join(b.TempDir(), "ledger.db"),
		"postgres": projectiontest.StartPostgres(b).Database(b),
	} {
		b.Run(kind, func(b *testing.B) {
			l := openAt(b, address, Config{})
			c := &chain{number: uint64(0)}
			for range blocks / 100 {
				var facts []rpc.Fact
				for range 100 {
					more, _ := c.next(alice, inBlock)
					facts = append(facts, more...)
				}
				record(b, l, facts...)
			}
			var pages []time.Duration
			var totals time.Duration
			for b.Loop() {
				turned := turnPages(b, l, limit)
				if len(turned) != blocks*inBlock/limit {
					b.Fatalf("%d pages", len(turned))
				}
				pages = append(pages, turned...)
				began := time.Now()
				if _, err := l.Totals(b.Context(), noon, alice); err != nil {
					b.Fatal(err)
				}
				totals += time.Since(began)
			}
			first, last, all := sum(pages, len(pages)/b.N, 0), sum(pages, len(pages)/b.N, 1), sum(pages, len(pages)/b.N, -1)
			page := float64(all) / float64(len(pages))
			b.ReportMetric(page/1000, "µs/page")
			b.ReportMetric(float64(last)/float64(first), "last-half/first-half")
			b.ReportMetric(float64(totals)/float64(b.N)/page, "pages/totals")
		})
	}
}

// turnPages reads all refunds of alice, and tells how long each page took.
func turnPages(b *testing.B, l *Ledger, limit int) (took []time.Duration) {
	b.Helper()
	for cursor := ""; ; {
		began := time.Now()
		page, err := l.ByRecipient(b.Context(), noon, alice, cursor, limit)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		if cursor = page.Cursor; cursor == "" {
			return took
		}
	}
}

// sum adds up the times of one half of each run, or of all.
func sum(took []time.Duration, run, half int) (all time.Duration) {
	for i, one := range took {
		if half < 0 || (i%run)*2/run == half {
			all += one
		}
	}
	return all
}
