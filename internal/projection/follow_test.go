package projection_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/projection"
)

// script is a journal that has some facts and then ends, or waits for the context.
type script struct {
	entries []projection.Entry
	ends    error
	from    uint64 // what was asked for
}

// Read implements projection.Source.
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

// Facts are visible one batch wait after they came, and only what was not applied before is asked
// for again.
func TestFollowGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := inMemory(t)
		source := &script{entries: []projection.Entry{word(1, "one")}}
		for _, want := range []struct {
			from  uint64
			words string
		}{{1, "one"}, {2, "one two"}} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- v.Follow(ctx, source) }()
			<-time.After(2 * projection.BatchWait) // of the bubble's time
			synctest.Wait()
			if got := seen(t, v); got != want.words {
				t.Errorf("seen %q, want %q", got, want.words)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if source.from != want.from {
				t.Errorf("read from %d, want %d", source.from, want.from)
			}
			source.entries = append(source.entries, word(2, "two"))
		}
	})
}

func TestFollowEndsWithTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		if err := inMemory(t).Follow(t.Context(), &script{ends: broken}); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	})
}

// journalOf is a real journal with some words.
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
		if err := j.AppendAsync("word", []byte(`"again"`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return j
}

// The real journal, a thousand facts, and a projection that is stopped in the middle of them, again
// and again: nothing is missing or double.
func TestFollowMissesNothing(t *testing.T) {
	const facts = 1000
	j := journalOf(t, facts)
	address := "sqlite:" + filepath.Join(t.TempDir(), "projection.db")
	for done := uint64(0); done < facts; {
		v, err := projection.Open(t.Context(), address, words(quiet))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := v.Follow(ctx, stopAfter{Journal: j, facts: 150, last: facts, stop: cancel}); err != nil {
			t.Fatal(err)
		}
		done = last(t, v)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if rows := count(t, wordsAt(t, address, quiet)); rows != facts {
		t.Errorf("%d rows, want %d", rows, facts)
	}
}

// stopAfter ends the follower's context after some facts, and after the last.
type stopAfter struct {
	*journal.Journal
	facts int
	last  uint64
	stop  context.CancelFunc
}

// Read implements projection.Source.
func (s stopAfter) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	return s.Journal.Read(ctx, from, func(seq uint64, at time.Time, subject string, data []byte) error {
		err := handle(seq, at, subject, data)
		if s.facts--; s.facts == 0 || seq == s.last {
			s.stop()
		}
		return err
	})
}
