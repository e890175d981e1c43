package view_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/internal/view"
)

// log is a journal of a name, with so many facts.
type log struct {
	id    string
	facts uint64
}

func (l log) ID() string                           { return l.id }
func (l log) Last(context.Context) (uint64, error) { return l.facts, nil }
func (l log) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	for seq := from; seq <= l.facts; seq++ {
		if err := handle(seq, noon, "word", []byte(`"x"`)); err != nil {
			return err
		}
	}
	return nil
}

// cut is a journal of our own, which has lost its newest facts.
type cut struct {
	*log
	skipped uint64
}

func (c *cut) Skip(_ context.Context, upTo uint64) error {
	c.skipped = upTo
	c.facts = upTo
	return nil
}

// After a power cut a journal of our own goes on behind what the database has: no number is given twice. One that lacks more than a cut can cost
// is refused, since it was restored.
func TestJournalThatLostItsTailGoesOn(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
	v := wordsAt(t, address, quiet)
	if err := v.Follow(t.Context(), log{"a", 20_000}); err != nil {
		t.Fatal(err)
	}
	have := uint64(count(t, v))
	for name, row := range map[string]struct {
		left uint64
		good bool
	}{"some": {have - 10, true}, "as many as may be": {have - 1<<14, true}, "too many": {have - 1<<14 - 1, false}} {
		journal := &cut{log: &log{"a", row.left}}
		err := wordsAt(t, address, quiet).CheckAtStart(t.Context(), journal)
		if (err == nil) != row.good || row.good != (journal.skipped == have) {
			t.Errorf("%s: %v, skipped up to %d", name, err, journal.skipped)
		}
	}
}

// A database belongs to the journal that it was made of: another one is refused, and so is the same when it has lost facts. A database that knows
// none, new or of an earlier version, takes the first that comes.
func TestDatabaseBelongsToItsJournal(t *testing.T) {
	for name, row := range map[string]struct {
		first, then log
		good        bool
	}{
		"the same":               {log{"a", 5}, log{"a", 5}, true},
		"the same, longer":       {log{"a", 5}, log{"a", 9}, true},
		"the same, but behind":   {log{"a", 5}, log{"a", 4}, false},
		"another":                {log{"a", 5}, log{"b", 0}, false},
		"another, longer":        {log{"a", 5}, log{"b", 9}, false},
		"another, nothing taken": {log{"a", 0}, log{"b", 9}, false},
	} {
		t.Run(name, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
			v := wordsAt(t, address, quiet)
			if err := v.Follow(t.Context(), row.first); err != nil {
				t.Fatal(err)
			}
			if got := count(t, v); got != int(row.first.facts) {
				t.Fatalf("%d words", got)
			}
			again := wordsAt(t, address, quiet)
			for what, err := range map[string]error{"at start": again.CheckAtStart(t.Context(), row.then), "following": again.Follow(t.Context(), row.then)} {
				if (err == nil) != row.good || err != nil && !errors.Is(err, view.ErrOtherJournal) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if !row.good && count(t, again) != int(row.first.facts) {
				t.Error("a refused journal changed the view")
			}
		})
	}
}

// The database of an earlier version has progress, and knows no journal: one that is behind it is refused, the other is its own from then on.
func TestDatabaseOfAnEarlierVersion(t *testing.T) {
	v := inMemory(t)
	if err := v.Apply(t.Context(), []view.Entry{word(1, "a"), word(2, "b")}); err != nil {
		t.Fatal(err)
	}
	if err := v.Check(t.Context(), log{"young", 1}); !errors.Is(err, view.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
	if err := v.Check(t.Context(), log{"own", 2}); err != nil {
		t.Error(err)
	}
	if err := v.Check(t.Context(), log{"later", 3}); !errors.Is(err, view.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
}

// A database whose tables a newer version has changed is refused, with what to do.
func TestDatabaseOfANewerVersion(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
	newer, older := words(quiet), words(quiet)
	script := older.Migrations.(fstest.MapFS)["1.sql"]
	newer.Migrations = fstest.MapFS{"1.sql": script, "2.sql": {Data: []byte(`CREATE TABLE more (n INTEGER)`)}}
	opened(t, address, newer)
	if v, err := view.Open(t.Context(), address, older); !errors.Is(err, store.ErrNewer) {
		t.Errorf("%v, %v", v, err)
	}
	opened(t, address, newer)
}
