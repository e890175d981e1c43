package projection_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

// following lets a projection follow a journal of some words, in the test's bubble, until the test
// ends.
func following(t *testing.T, v *projection.Projection, facts int) {
	t.Helper()
	source := &script{}
	for n := range facts {
		source.entries = append(source.entries, word(uint64(n+1), strconv.Itoa(n+1)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Follow(ctx, source) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Ten minutes without a database: it is tried ever more rarely, the log has two lines, and then all
// facts are there, once.
func TestFollowSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage = 10 * time.Minute
		var log strings.Builder
		var tries []time.Duration
		began := time.Now()
		v := wordsAt(t, "sqlite::memory:", slog.New(slog.NewTextHandler(&log, nil)))
		v.Database = &projectiontest.Faulty{Database: v.Database, Next: func() projectiontest.Fault {
			return projectiontest.None
		}, Dead: func() bool {
			tries = append(tries, time.Since(began))
			return time.Since(began) < outage
		}}
		following(t, v, 3)
		<-time.After(outage + projection.LongestPause + 2*projection.BatchWait)
		synctest.Wait()

		if got := seen(t, v); got != "1 2 3" {
			t.Errorf("seen %q, want 1 2 3", got)
		}
		var pauses []time.Duration
		for i := range tries[:10] {
			pauses = append(pauses, tries[i+1]-tries[i])
		}
		const ms = time.Millisecond
		want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms,
			5000 * ms, 5000 * ms}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "database fails") ||
			!strings.Contains(lines[1], "database is back") {
			t.Errorf("want a line for the begin and one for the end:\n%s", log.String())
		}
	})
}

// A transaction that fails may have been kept or not: what was is not applied again, what was not
// is.
func TestFollowDoublesNothing(t *testing.T) {
	for name, failing := range map[string]projectiontest.Fault{
		"before it begins": projectiontest.BeforeBegin, "before the commit": projectiontest.BeforeCommit,
		"after the commit": projectiontest.AfterCommit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := inMemory(t)
				var transactions int
				v.Database = &projectiontest.Faulty{Database: v.Database, Next: func() projectiontest.Fault {
					if transactions++; transactions <= 3 {
						return failing
					}
					return projectiontest.None
				}}
				following(t, v, projection.MaxBatch+2)
				<-time.After(time.Minute)
				synctest.Wait()
				if rows := count(t, v); rows != projection.MaxBatch+2 {
					t.Errorf("%d rows, want %d", rows, projection.MaxBatch+2)
				}
				if got := last(t, v); got != projection.MaxBatch+2 {
					t.Errorf("progress %d, want %d", got, projection.MaxBatch+2)
				}
			})
		})
	}
}

// A standby takes over that has not heard of the last facts: they are read from the journal again.
func TestFollowReadsAgainWhatTheDatabaseHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := inMemory(t)
		var swap atomic.Bool
		v.Database = &standby{Database: v.Database, next: inMemory(t).Database, swap: &swap}
		source := &grown{script: script{entries: []projection.Entry{word(1, "one")}}, more: make(chan projection.Entry)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Follow(ctx, source) }()
		<-time.After(2 * projection.BatchWait)
		synctest.Wait()
		swap.Store(true)
		second := word(2, "two")
		source.entries = append(source.entries, second)
		source.more <- second
		<-time.After(time.Second)
		synctest.Wait()
		if got := seen(t, v); got != "one two" {
			t.Errorf("seen %q, want one two", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// standby is a database that another one takes the place of.
type standby struct {
	projection.Database
	next projection.Database
	swap *atomic.Bool
}

// InTx implements projection.Database.
func (s *standby) InTx(ctx context.Context, do func(projection.Tx) error) error {
	if s.swap.CompareAndSwap(true, false) {
		s.Database = s.next
	}
	return s.Database.InTx(ctx, do)
}

// grown is a journal that gets more facts while it is read.
type grown struct {
	script
	more chan projection.Entry
}

// Read implements projection.Source.
func (g *grown) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	for _, entry := range g.entries[min(from-1, uint64(len(g.entries))):] {
		if err := handle(entry.Seq, noon, entry.Subject, entry.Data); err != nil {
			return err
		}
	}
	for {
		select {
		case entry := <-g.more:
			if err := handle(entry.Seq, noon, entry.Subject, entry.Data); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
