package archive

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// script is a journal that has some facts and then ends, or waits for the context.
type script struct {
	entries []Entry
	ends    error
	from    uint64 // what was asked for
}

// Read implements Source.
func (s *script) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	s.from = from
	for _, entry := range s.entries {
		if entry.Seq < from {
			continue
		}
		if err := handle(entry.Seq, noon, entry.Subject, entry.Data); err != nil {
			return err
		}
	}
	if s.ends != nil {
		return s.ends
	}
	<-ctx.Done()
	return nil
}

// Facts are visible one batch wait after they came, and only what was not applied before is asked for again.
func TestFollowGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t)
		source := &script{entries: []Entry{entryOf(t, 1, delivery(trace(5, 1, wei(1))))}}
		for _, want := range []struct {
			from   uint64
			blocks string
		}{{1, "1"}, {2, "2 1"}} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- a.Follow(ctx, source) }()
			<-time.After(2 * batchWait) // of the bubble's time
			synctest.Wait()
			if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != want.blocks {
				t.Errorf("delivered %q, want %q", got, want.blocks)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if source.from != want.from {
				t.Errorf("read from %d, want %d", source.from, want.from)
			}
			source.entries = append(source.entries, entryOf(t, 2, delivery(trace(6, 2, wei(1)))))
		}
	})
}

func TestFollowEndsWithTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		if err := open(t).Follow(t.Context(), &script{ends: broken}); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	})
}

// journalOf is a real journal with some submissions.
func journalOf(t *testing.T, facts int) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for range facts {
		fact := counted(trace(5, 1, wei(1)))
		data, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.AppendAsync("relay."+fact.Subject(), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return j
}

// The real journal, a thousand facts, and an archive that is stopped in the middle of them, again and again: nothing is missing or double.
func TestFollowMissesNothing(t *testing.T) {
	const facts = 1000
	j := journalOf(t, facts)
	url := "sqlite:" + filepath.Join(t.TempDir(), "archive.db")
	for last := uint64(0); last < facts; {
		a, err := Open(t.Context(), url, quiet)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := a.Follow(ctx, stopAfter{Journal: j, facts: 150, last: facts, stop: cancel}); err != nil {
			t.Fatal(err)
		}
		if last, err = a.Last(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(t.Context(), url, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if rows, err := a.Received(t.Context(), relay.TraceQuery{Limit: 2 * facts}); err != nil || len(rows) != facts {
		t.Errorf("%d rows, %v, want %d", len(rows), err, facts)
	}
}

// stopAfter ends the follower's context after some facts, and after the last.
type stopAfter struct {
	*journal.Journal
	facts int
	last  uint64
	stop  context.CancelFunc
}

// Read implements Source.
func (s stopAfter) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	return s.Journal.Read(ctx, from, func(seq uint64, at time.Time, subject string, data []byte) error {
		err := handle(seq, at, subject, data)
		if s.facts--; s.facts == 0 || seq == s.last {
			s.stop()
		}
		return err
	})
}
