package projection_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }

var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
)

// words is the projection of these tests: every fact "word" is a row. Nothing keeps a row from
// being there twice but the projection.
func words(log *slog.Logger) projection.Config {
	return projection.Config{
		Name: "words", Log: log,
		Migrations: fstest.MapFS{"1.sql": {Data: []byte(
			`CREATE TABLE progress (seq INTEGER NOT NULL); INSERT INTO progress VALUES (0); CREATE TABLE words (seq INTEGER, word TEXT);`,
		)}},
		Decode: func(entry projection.Entry) (projection.Change, error) {
			if entry.Subject != "word" {
				return nil, nil
			}
			var word string
			if err := json.Unmarshal(entry.Data, &word); err != nil {
				return nil, err
			}
			return func(ctx context.Context, tx projection.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO words (seq, word) VALUES (?, ?)`, int64(entry.Seq), word)
				return err
			}, nil
		},
	}
}

// wordsAt opens the projection at an address, connected, until the test's end.
func wordsAt(t testing.TB, address string, log *slog.Logger) *projection.Projection {
	t.Helper()
	return opened(t, address, words(log))
}

// opened opens a projection, connected, until the test's end.
func opened(t testing.TB, address string, cfg projection.Config) *projection.Projection {
	t.Helper()
	v, err := projection.Open(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := v.Database // a test may put another in front of it
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

// inMemory opens the projection in memory.
func inMemory(t testing.TB) *projection.Projection {
	t.Helper()
	return wordsAt(t, "sqlite::memory:", quiet)
}

func word(seq uint64, text string) projection.Entry {
	return projection.Entry{Seq: seq, Subject: "word", Data: fmt.Appendf(nil, "%q", text)}
}

// seen are the words of the projection in their order.
func seen(t testing.TB, v *projection.Projection) string {
	t.Helper()
	var all []string
	err := v.Each(t.Context(), func(rows *sql.Rows) error {
		var one string
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	}, `SELECT word FROM words ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// count is how many words the projection has.
func count(t testing.TB, v *projection.Projection) (rows int) {
	t.Helper()
	if err := v.QueryRow(t.Context(), `SELECT count(*) FROM words`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func last(t testing.TB, v *projection.Projection) uint64 {
	t.Helper()
	seq, err := v.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func onEach(t *testing.T, test func(t *testing.T, v *projection.Projection, log *strings.Builder)) {
	t.Helper()
	projectiontest.OnEach(t, func(t *testing.T, address string, front func(projection.Database) projection.Database) {
		log := new(strings.Builder)
		v := wordsAt(t, address, slog.New(slog.NewTextHandler(log, nil)))
		v.Database = front(v.Database)
		test(t, v, log)
	})
}

// After a crash the journal is read again from the last transaction on, and more than once does no
// harm.
func TestFactsAreAppliedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, v *projection.Projection, _ *strings.Builder) {
		first, second := word(1, "one"), word(2, "two")
		for _, batch := range [][]projection.Entry{{first}, {first, second}, {second}, {first}} {
			projectiontest.Apply(t, v, batch...)
		}
		if got := seen(t, v); got != "one two" {
			t.Errorf("seen %q, want one two", got)
		}
		if got := last(t, v); got != 2 {
			t.Errorf("progress %d, want 2: it never goes back", got)
		}
	})
}

// The journal is ours: what cannot be read is a mistake that somebody has to see, but no fact after
// it may wait for it.
func TestUnreadableFactsAreSkipped(t *testing.T) {
	onEach(t, func(t *testing.T, v *projection.Projection, log *strings.Builder) {
		projectiontest.Apply(t, v, projection.Entry{Seq: 1, Subject: "word", Data: []byte("x")}, word(2, "two"),
			projection.Entry{Seq: 3, Subject: "word"}, word(4, "four"))
		if got := seen(t, v); got != "two four" {
			t.Errorf("seen %q, want two four", got)
		}
		if got := last(t, v); got != 4 || v.Skipped() != 2 {
			t.Errorf("progress %d, %d skipped, want 4 and 2", got, v.Skipped())
		}
		for _, want := range []string{"projection=words", "fact 1 (word)", "fact 3 (word)"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, log.String())
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 {
			t.Errorf("%d lines, want one for each fact:\n%s", lines, log.String())
		}
	})
}

func TestUnknownFactsAreOnlyCounted(t *testing.T) {
	onEach(t, func(t *testing.T, v *projection.Projection, _ *strings.Builder) {
		projectiontest.Apply(t, v, projection.Entry{Seq: 7, Subject: "picture", Data: []byte("?")})
		if got := last(t, v); got != 7 || v.Skipped() != 0 {
			t.Errorf("progress %d, %d skipped, want 7 and none", got, v.Skipped())
		}
	})
}

func TestAViewSurvivesARestart(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "projection.db")
	for n, want := range []string{"one", "one two"} {
		v, err := projection.Open(t.Context(), address, words(quiet))
		if err != nil {
			t.Fatal(err)
		}
		projectiontest.Apply(t, v, []projection.Entry{word(1, "one"), word(2, "two")}[:n+1]...)
		if got := seen(t, v); got != want {
			t.Errorf("seen %q, want %q", got, want)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A change that fails is the database's fault: nothing of its batch is kept, and the error names
// the fact.
func TestABatchIsKeptWholeOrNotAtAll(t *testing.T) {
	broken := errors.New("broken")
	cfg := words(quiet)
	decode := cfg.Decode
	cfg.Decode = func(entry projection.Entry) (projection.Change, error) {
		if entry.Seq == 2 {
			return func(context.Context, projection.Tx) error { return broken }, nil
		}
		return decode(entry)
	}
	v, err := projection.Open(t.Context(), "sqlite::memory:", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	err = v.Apply(t.Context(), []projection.Entry{word(1, "one"), word(2, "two")})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "fact 2 (word)") {
		t.Errorf("%v, want broken at fact 2", err)
	}
	if got := last(t, v); got != 0 || count(t, v) != 0 {
		t.Errorf("progress %d, %d rows, want none", got, count(t, v))
	}
}

// A room is told after each batch that is committed, and before the first one of Follow; what it
// could not do it is told again.
func TestAppliedIsTold(t *testing.T) {
	var told []uint64
	var v *projection.Projection
	fail := false
	cfg := words(quiet)
	cfg.Applied = func(ctx context.Context) error {
		if fail {
			return errors.New("away")
		}
		last, err := v.Last(ctx)
		told = append(told, last)
		return err
	}
	v = opened(t, "sqlite::memory:", cfg)
	for seq := uint64(1); seq <= 3; seq++ {
		fail = seq == 2
		if err := v.Apply(t.Context(), []projection.Entry{word(seq, "a")}); (err != nil) != fail {
			t.Errorf("fact %d: %v", seq, err)
		}
	}
	if err := v.Follow(t.Context(), &script{ends: errors.New("over")}); err == nil {
		t.Error("Follow ended well")
	}
	if want := []uint64{1, 3, 3}; !slices.Equal(told, want) {
		t.Errorf("told when the projection was at %d, want %d", told, want)
	}
}
