package archive

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/relay"
)

// following lets an archive follow a journal of some submissions, in the test's bubble, until the test ends.
func following(t *testing.T, a *Archive, facts int) {
	t.Helper()
	source := &script{}
	for n := range facts {
		source.entries = append(source.entries, entryOf(t, uint64(n+1), counted(trace(5, byte(n+1), wei(1)))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Follow(ctx, source) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Ten minutes without a database: it is tried ever more rarely, the log has two lines, and then all facts are there, once.
func TestFollowSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage = 10 * time.Minute
		var log strings.Builder
		var tries []time.Duration
		began := time.Now()
		a := open(t)
		a.log = slog.New(slog.NewTextHandler(&log, nil))
		a.database = &faulty{database: a.database, fault: func() fault { return none }, dead: func() bool {
			tries = append(tries, time.Since(began))
			return time.Since(began) < outage
		}}
		following(t, a, 3)
		<-time.After(outage + longestPause + 2*batchWait)
		synctest.Wait()

		if got := received(t, a, relay.TraceQuery{Limit: 10}); got != "3 2 1" {
			t.Errorf("received %q, want 3 2 1", got)
		}
		var pauses []time.Duration
		for i := range tries[:10] {
			pauses = append(pauses, tries[i+1]-tries[i])
		}
		const ms = time.Millisecond
		want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms, 5000 * ms, 5000 * ms}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "database fails") || !strings.Contains(lines[1], "database is back") {
			t.Errorf("want a line for the begin and one for the end:\n%s", log.String())
		}
	})
}

// A transaction that fails may have been kept or not: what was is not applied again, what was not is.
func TestFollowDoublesNothing(t *testing.T) {
	for name, failing := range map[string]fault{"before it begins": beforeBegin, "before the commit": beforeCommit, "after the commit": afterCommit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := open(t)
				var transactions int
				a.database = &faulty{database: a.database, fault: func() fault {
					if transactions++; transactions <= 3 {
						return failing
					}
					return none
				}}
				following(t, a, maxBatch+2)
				<-time.After(time.Minute)
				synctest.Wait()
				list, err := a.Received(t.Context(), relay.TraceQuery{Limit: 2 * maxBatch})
				if err != nil || len(list) != maxBatch+2 {
					t.Errorf("%d rows, %v, want %d", len(list), err, maxBatch+2)
				}
				if last, err := a.Last(t.Context()); err != nil || last != maxBatch+2 {
					t.Errorf("progress %d, %v, want %d", last, err, maxBatch+2)
				}
			})
		})
	}
}

// A standby takes over that has not heard of the last facts: they are read from the journal again.
func TestFollowReadsAgainWhatTheDatabaseHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t)
		var swap atomic.Bool
		a.database = &standby{database: a.database, next: open(t).database, swap: &swap}
		source := &grown{script: script{entries: []Entry{entryOf(t, 1, delivery(trace(5, 1, wei(1))))}}, more: make(chan Entry)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Follow(ctx, source) }()
		<-time.After(2 * batchWait)
		synctest.Wait()
		swap.Store(true)
		second := entryOf(t, 2, delivery(trace(6, 2, wei(1))))
		source.entries = append(source.entries, second)
		source.more <- second
		<-time.After(time.Second)
		synctest.Wait()
		if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != "2 1" {
			t.Errorf("delivered %q, want 2 1", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// standby is a database that another one takes the place of.
type standby struct {
	database
	next database
	swap *atomic.Bool
}

// InTx implements database.
func (s *standby) InTx(ctx context.Context, do func(store.Tx) error) error {
	if s.swap.CompareAndSwap(true, false) {
		s.database = s.next
	}
	return s.database.InTx(ctx, do)
}

// grown is a journal that gets more facts while it is read.
type grown struct {
	script
	more chan Entry
}

// Read implements Source.
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
