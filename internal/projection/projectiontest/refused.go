package projectiontest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Start starts a whole service with a database, and with its journal in the folder "journal" of a
// data folder. moved is the word with which it takes over a copied folder; empty for none. The
// error is the reason why the service did not start.
type Start func(t *testing.T, dataDir, database, moved string) (*Running, error)

// Running is a service that was started.
type Running struct {
	// Newest is the number of the journal's newest fact. Work makes the service record at least one
	// fact.
	Newest func(context.Context) (uint64, error)
	Work   func()
	// Ended gets the error with which the service ends, once.
	Ended <-chan error
	// Stop stops the service in order and closes what it has opened. If the service has ended by
	// itself, Stop does not receive from Ended.
	Stop func() error
}

// laterMigration is the name of a migration that this version does not know.
const laterMigration = "99-of-a-later-version.sql"

// Parts of the messages to an operator about a database that does not fit.
var (
	otherWords = []string{"is of journal ", ", this is ", toDo}
	lostWords  = []string{"restored or has lost facts", toDo}
	newerWords = []string{
		"a newer version has changed the tables: start that version again, or give --db another database (it has migration " +
			laterMigration + ")",
	}
)

const toDo = "restore the journal that the database was made of, or give --db another database: it is filled from " +
	"this journal"

// RefusesWhatDoesNotFit checks that a service does not start with a database of another journal, of
// a journal that has lost facts since, or of a newer schema, however often it is started. If such a
// database is away at the start, the service must end by itself once the database answers. Each
// time the error must say what to do. Afterwards the service must still work with its own database.
// Databases are files and PostgreSQL.
func RefusesWhatDoesNotFit(t *testing.T, start Start) {
	t.Helper()
	server := StartPostgres(t)
	for kind, row := range map[string]struct {
		driver, address, source string
	}{
		"file":     fileDatabase(filepath.Join(t.TempDir(), "projection.db")),
		"postgres": serverDatabase(server.Database(t)),
	} {
		t.Run(kind, func(t *testing.T) {
			home := t.TempDir()
			own, older, another := filepath.Join(home, "own"), filepath.Join(home, "older"), filepath.Join(home, "another")
			db, err := sql.Open(row.driver, row.source)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }() // it is used for queries only
			takeUp(t, db, start, own, row.address)
			if err := os.CopyFS(older, os.DirFS(own)); err != nil {
				t.Fatal(err)
			}
			takeUp(t, db, start, own, row.address)

			_, err = start(t, older, row.address, "")
			word := wordOf(t, err)
			cases := []struct {
				name, dir string
				newer     bool
				words     []string
			}{
				{"another journal", another, false, otherWords},
				{"an older journal", older, false, lostWords},
				{"a newer schema", own, true, newerWords},
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					if c.newer {
						mark(t, db, `INSERT INTO migrations (name) VALUES ('`+laterMigration+`')`)
						defer mark(t, db, `DELETE FROM migrations WHERE name = '`+laterMigration+`'`)
					}
					for range 2 { // as a supervisor does, which restarts a service again and again
						running, err := start(t, c.dir, row.address, word)
						if err == nil {
							t.Error("it starts")
							stop(t, running)
							return
						}
						wantWords(t, err, c.words)
					}
					if kind == "postgres" {
						wantWords(t, startWithout(t, server, start, c.dir, row.address), c.words)
					}
				})
			}
			takeUp(t, db, start, own, row.address) // it still works with its own database
		})
	}
}

func fileDatabase(path string) struct{ driver, address, source string } {
	return struct{ driver, address, source string }{"sqlite3", "sqlite:" + path, "file:" + path + "?_busy_timeout=5000"}
}

func serverDatabase(address string) struct{ driver, address, source string } {
	return struct{ driver, address, source string }{"pgx", address, address}
}

// takeUp runs a service until its database has applied a fact that is newer than the journal's
// newest one at the start.
func takeUp(t *testing.T, db *sql.DB, start Start, dir, address string) {
	t.Helper()
	running, err := start(t, dir, address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, running)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before, err := running.Newest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	running.Work()
	for last := uint64(0); last <= before; {
		if err := db.QueryRowContext(ctx, `SELECT seq FROM progress`).Scan(&last); err != nil {
			t.Fatalf("%d facts are taken up of more than %d: %v", last, before, err)
		}
	}
}

// startWithout starts a service while the database server is away, and returns the error with which
// the service ends when the server is back.
func startWithout(t *testing.T, server *Server, start Start, dir, address string) error {
	t.Helper()
	server.Stop(t)
	running, err := start(t, dir, address, "")
	if err != nil {
		t.Fatalf("it does not start without its database: %v", err)
	}
	server.Restart(t)
	select {
	case err = <-running.Ended:
	case <-time.After(30 * time.Second): // only when the test fails
		t.Error("it goes on")
		stop(t, running)
		return nil
	}
	if closed := running.Stop(); closed != nil {
		t.Error(closed)
	}
	return err
}

func stop(t *testing.T, running *Running) {
	t.Helper()
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
}

// wordOf is the word with which a copied journal is taken over, as the error that refuses the
// journal names it.
func wordOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("a copied journal is not refused")
	}
	found := regexp.MustCompile(`--journal-moved ([0-9a-f]+)`).FindStringSubmatch(err.Error())
	if len(found) != 2 {
		t.Fatalf("%v, want a word", err)
	}
	return found[1]
}

func mark(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// wantWords checks that an error contains all words.
func wantWords(t *testing.T, err error, words []string) {
	t.Helper()
	if err == nil || slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(err.Error(), word) }) {
		t.Errorf("got %v\nwant %q", err, words)
	}
}
