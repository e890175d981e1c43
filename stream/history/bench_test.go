package history

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/stream"
)

const (
	many       = 10_000_000
	firstBlock = 20_000_000
	firstSec   = 1_700_000_000
)

// fill writes many events of 200 bytes and more, 20 in a block, of which some came late, without
// the journal: that would take an hour.
func fill(b *testing.B, h *openedHistory) {
	b.Helper()
	const at = 500_000
	for from := 0; from < many; from += at {
		err := h.projection.InTx(b.Context(), func(tx projection.Tx) error {
			for _, statement := range []string{
				`INSERT INTO events (id, block, at_s, json)
					WITH RECURSIVE n (id) AS (SELECT ? UNION ALL SELECT id + 1 FROM n WHERE id < ?)
					SELECT id, 20000000 + id / 20 - (id % 97 = 0) * 3, 1700000000 + id / 20 * 12 + id % 12 - (id % 97 = 0) * 36,
						CAST('{"hash":"0x' || lower(hex(randomblob(32))) || '","logs":null,"txs":[{"to":"0x' || lower(hex(randomblob(20))) ||
						'","functionSelector":"0x12aa3caf"}],"mevGasPrice":"0x2faf080"}' AS BLOB) FROM n`,
				`INSERT INTO chunks SELECT (id - 1) / 1024, count(*), min(block), max(block), min(at_s), max(at_s) FROM events
					WHERE id >= ? AND id <= ? GROUP BY 1 ON CONFLICT (chunk) DO UPDATE SET events = events + excluded.events,
					min_block = min(min_block, excluded.min_block), max_block = max(max_block, excluded.max_block),
					min_at_s = min(min_at_s, excluded.min_at_s), max_at_s = max(max_at_s, excluded.max_at_s)`,
			} {
				if _, err := tx.Exec(b.Context(), statement, from+1, from+at); err != nil {
					return err
				}
			}
			_, err := tx.Exec(b.Context(), `UPDATE counter SET last = ?`, from+at)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Any page of 10 million events: with any bounds, from any offset. The benchmark "plain" is one
// page in the middle, found by OFFSET alone.
func BenchmarkPage10M(b *testing.B) {
	address := "sqlite:" + filepath.Join(b.TempDir(), "history.db")
	begin := time.Now()
	fill(b, openAt(b, address))
	b.Logf("%d events written in %v", many, time.Since(begin).Round(time.Second))

	h := openAt(b, address)
	if got := info(b, h); got.Count != many {
		b.Fatalf("%+v", got)
	}
	d := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name  string
		query func() stream.Query
	}{
		{"offset", func() stream.Query {
			q := everything(500)
			q.Offset = d.Int64N(many)
			return q
		}},
		{"blocks", func() stream.Query {
			return bounded(d, func(q *stream.Query, r stream.Range) { q.Blocks = scale(r, firstBlock, 1) })
		}},
		{"times", func() stream.Query {
			return bounded(d, func(q *stream.Query, r stream.Range) { q.Times = scale(r, firstSec, 12) })
		}},
		{"both", func() stream.Query {
			return bounded(d, func(q *stream.Query, r stream.Range) {
				q.Blocks, q.Times = scale(r, firstBlock, 1), scale(stream.Range{From: r.From + 2, To: r.To - 2}, firstSec, 12)
			})
		}},
	} {
		b.Run(c.name, func(b *testing.B) { pages(b, h, c.query) })
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			plain(b, h)
		}
	})
	b.Run("info", func(b *testing.B) {
		for b.Loop() {
			if _, err := h.Info(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// bounded is a query for some blocks, counted from the first, with an offset that may be past the
// last of them.
func bounded(d *rand.Rand, set func(*stream.Query, stream.Range)) stream.Query {
	q := everything(500)
	from := d.Int64N(many / 20)
	r := stream.Range{From: from, To: from + d.Int64N(many/20-from)}
	set(&q, r)
	q.Offset = d.Int64N(20*(r.To-r.From) + 100)
	return q
}

func scale(r stream.Range, first, by int64) stream.Range {
	return stream.Range{From: first + by*r.From, To: first + by*r.To}
}

func pages(b *testing.B, h *openedHistory, query func() stream.Query) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		q := query()
		begin := time.Now()
		if _, err := h.Page(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[(len(took)-1)*99/100]), "p99-ms")
	b.ReportMetric(ms(took[len(took)-1]), "worst-ms")
}

// plain is a page in the middle by OFFSET alone.
func plain(b *testing.B, h *openedHistory) {
	b.Helper()
	err := h.projection.Each(context.Background(), func(*sql.Rows) error {
		return nil
	}, `SELECT id, json FROM events ORDER BY id LIMIT 500 OFFSET ?`, many/2)
	if err != nil {
		b.Fatal(err)
	}
}

// What an event costs until it is stored and published, in full batches.
func BenchmarkStore(b *testing.B) {
	h := openAt(b, "sqlite:"+filepath.Join(b.TempDir(), "history.db"))
	entries := make([]projection.Entry, 0, projection.MaxBatch)
	seq := uint64(0)
	for b.Loop() {
		seq++
		entries = append(entries, came{seq, int64(seq / 20), int64(seq)}.entry(seq))
		if len(entries) < cap(entries) {
			continue
		}
		if err := h.Apply(b.Context(), entries); err != nil {
			b.Fatal(err)
		}
		entries, h.published = entries[:0], nil
	}
}
