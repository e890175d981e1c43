package projection_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/projection"
)

// log is a journal of a name, with so many facts, a second apart or at the times given.
type log struct {
	id    string
	facts uint64
	at    map[uint64]time.Time
}

func (l log) ID() string                           { return l.id }
func (l log) Last(context.Context) (uint64, error) { return l.facts, nil }
func (l log) time(seq uint64) time.Time {
	if at, ok := l.at[seq]; ok {
		return at
	}
	return noon.Add(time.Duration(seq) * time.Second)
}

func (l log) TimeOf(_ context.Context, seq uint64) (time.Time, bool, error) {
	return l.time(seq), seq <= l.facts, nil
}

func (l log) Read(ctx context.Context, from uint64, handle func(uint64, time.Time, string, []byte) error) error {
	for seq := from; seq <= l.facts; seq++ {
		if err := handle(seq, l.time(seq), "word", []byte(`"x"`)); err != nil {
			return err
		}
	}
	return nil
}

// followAll takes up a whole journal. One that ends may end Follow before all was taken up.
func followAll(t *testing.T, v *projection.Projection, journal log) {
	t.Helper()
	for first := true; first || count(t, v) < int(journal.facts); first = false {
		if err := v.Follow(t.Context(), journal); err != nil {
			t.Fatal(err)
		}
	}
}

// ours is a journal of our own, which may have lost its newest facts.
type ours struct {
	*log
	closed  bool
	skipped uint64
}

func (o *ours) Skip(_ context.Context, upTo uint64) error {
	o.skipped = upTo
	o.facts = upTo
	return nil
}

func (o *ours) ClosedCleanly() bool { return o.closed }

// After a power cut a journal of our own goes on behind what the database has: no number is given
// twice. One that lacks facts of more than the last seconds, or was closed in good order since it
// had its newest, was restored: it is refused.
//
//gavel:fault power-cut
func TestJournalThatLostItsTailGoesOn(t *testing.T) {
	const facts = 200
	late := map[uint64]time.Time{facts: noon.Add(time.Hour)} // after nothing had happened for long
	for name, row := range map[string]struct {
		left   uint64
		at     map[uint64]time.Time
		closed bool
		good   bool
	}{
		"facts of ten seconds":                   {left: facts - 11, good: true},
		"of more":                                {left: facts - 12},
		"of a minute and more":                   {left: facts - 70},
		"one, long after those before it":        {left: facts - 1, at: late, good: true},
		"two, one of them long before":           {left: facts - 2, at: late},
		"one, but it was closed in order":        {left: facts - 1, closed: true},
		"of a time after the clock was set back": {left: facts - 1, at: map[uint64]time.Time{facts: noon}, good: true},
	} {
		t.Run(name, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
			v := wordsAt(t, address, quiet)
			followAll(t, v, log{"a", facts, row.at})
			journal := &ours{log: &log{"a", row.left, row.at}, closed: row.closed}
			err := wordsAt(t, address, quiet).CheckAtStart(t.Context(), journal)
			if (err == nil) != row.good || row.good != (journal.skipped == facts) || err != nil &&
				!errors.Is(err, projection.ErrOtherJournal) {
				t.Errorf("%v, skipped up to %d", err, journal.skipped)
			}
		})
	}
}

// A journal that was restored, or lost facts, and went on before its database was there has other
// facts under the same numbers. It is refused although it is as long.
func TestJournalThatWentAnotherWay(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
	followAll(t, wordsAt(t, address, quiet), log{"a", 100, nil})
	again := wordsAt(t, address, quiet)
	other := log{"a", 150, map[uint64]time.Time{100: noon.Add(time.Hour)}}
	if err := again.CheckAtStart(t.Context(), other); !errors.Is(err, projection.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
	if err := again.CheckAtStart(t.Context(), log{"a", 150, nil}); err != nil {
		t.Error(err)
	}
}

// The same with real journals: a copy that was made while the journal was open is what a power cut
// leaves, and goes on; a backup is refused, also when it has gone on.
func TestRestoredJournalIsRefused(t *testing.T) {
	home := t.TempDir()
	dir, address := filepath.Join(home, "journal"), "sqlite:"+filepath.Join(home, "words.db")
	copied := func(name string) string {
		to := filepath.Join(home, name)
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		// else it is refused as a copy, and the operator must say that it is the only one
		if err := os.Remove(filepath.Join(to, "place.json")); err != nil {
			t.Fatal(err)
		}
		return to
	}
	run := func(dir string, words int, then func()) error {
		j, err := journal.Open(t.Context(), journal.Config{Dir: dir, EscrowBytes: 64 << 20, FactsBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := j.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		v := wordsAt(t, address, quiet)
		if err := v.CheckAtStart(t.Context(), j); err != nil {
			return err
		}
		for range words {
			if _, err := j.Append(t.Context(), "word", []byte(`"x"`)); err != nil {
				t.Fatal(err)
			}
		}
		then()
		newest, err := j.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Follow(ctx, j) }()
		for last(t, v) < newest {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(time.Millisecond):
			}
		}
		stop()
		return <-ended
	}
	var cut, wayward string
	if err := run(dir, 3, func() { cut = copied("cut"); wayward = copied("wayward") }); err != nil {
		t.Fatal(err)
	}
	backup := copied("backup")
	if err := run(dir, 3, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := run(backup, 0, func() {}); !errors.Is(err, projection.ErrOtherJournal) {
		t.Errorf("a backup: %v", err)
	}
	j, err := journal.Open(t.Context(), journal.Config{Dir: wayward, EscrowBytes: 64 << 20, FactsBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := j.Append(t.Context(), "word", []byte(`"other"`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := wordsAt(t, address, quiet).CheckAtStart(t.Context(), j); !errors.Is(err, projection.ErrOtherJournal) {
		t.Errorf("one that went on by itself: %v", err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := run(cut, 1, func() {}); err != nil {
		t.Errorf("after a power cut: %v", err)
	}
	if err := run(cut, 1, func() {}); err != nil {
		t.Errorf("and again: %v", err)
	}
}

// A database belongs to the journal that it was made of: another one is refused, and so is the same
// when it has lost facts. A database that knows none, new or of an earlier version, takes the first
// that comes.
func TestDatabaseBelongsToItsJournal(t *testing.T) {
	for name, row := range map[string]struct {
		first, then log
		good        bool
	}{
		"the same":               {log{"a", 5, nil}, log{"a", 5, nil}, true},
		"the same, longer":       {log{"a", 5, nil}, log{"a", 9, nil}, true},
		"the same, but behind":   {log{"a", 5, nil}, log{"a", 4, nil}, false},
		"another":                {log{"a", 5, nil}, log{"b", 0, nil}, false},
		"another, longer":        {log{"a", 5, nil}, log{"b", 9, nil}, false},
		"another, nothing taken": {log{"a", 0, nil}, log{"b", 9, nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "words.db")
			v := wordsAt(t, address, quiet)
			followAll(t, v, row.first)
			again := wordsAt(t, address, quiet)
			for what, err := range map[string]error{"at start": again.CheckAtStart(t.Context(), row.then),
				"following": again.Follow(t.Context(), row.then)} {
				if (err == nil) != row.good || err != nil && !errors.Is(err, projection.ErrOtherJournal) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if !row.good && count(t, again) != int(row.first.facts) {
				t.Error("a refused journal changed the projection")
			}
		})
	}
}

// The database of an earlier version has progress, and knows no journal: one that is behind it is
// refused, the other is its own from then on.
func TestDatabaseOfAnEarlierVersion(t *testing.T) {
	v := inMemory(t)
	if err := v.Apply(t.Context(), []projection.Entry{word(1, "a"), word(2, "b")}); err != nil {
		t.Fatal(err)
	}
	if err := v.Check(t.Context(), log{"young", 1, nil}); !errors.Is(err, projection.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
	if err := v.Check(t.Context(), log{"own", 2, nil}); err != nil {
		t.Error(err)
	}
	if err := v.Check(t.Context(), log{"later", 3, nil}); !errors.Is(err, projection.ErrOtherJournal) {
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
	if v, err := projection.Open(t.Context(), address, older); !errors.Is(err, projection.ErrNewer) {
		t.Errorf("%v, %v", v, err)
	}
	opened(t, address, newer)
}
