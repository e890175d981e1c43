package projection_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

// One text for both databases: places, 64-bit integers, bytes, and a row that takes another's
// place.
func TestOneTextForAllDatabases(t *testing.T) {
	migrations := fstest.MapFS{
		"01.sql": {Data: []byte(`CREATE TABLE thing (id INTEGER PRIMARY KEY, name BLOB NOT NULL); -- all of it`)}}
	for kind, address := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"postgres": projectiontest.StartPostgres(t).Database(t)} {
		t.Run(kind, func(t *testing.T) {
			db, err := openNow(t, address, migrations)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			const great = int64(1) << 62
			for _, name := range [][]byte{{1, 0, 255}, {2}} {
				err := db.InTx(t.Context(), func(tx projection.Tx) error {
					_, err := tx.Exec(t.Context(),
						`INSERT INTO thing (id, name) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name`, great, name)
					return err
				})
				var found []byte
				scanErr := db.QueryRow(t.Context(), `SELECT name FROM thing WHERE id = ? AND '?' = '?'`, great).Scan(&found)
				if err != nil || scanErr != nil || !slices.Equal(found, name) {
					t.Errorf("%v, %v: found %v, want %v", err, scanErr, found, name)
				}
			}
			if err := db.QueryRow(t.Context(), `INSERT INTO thing (id, name) VALUES (1, ?) RETURNING id`,
				[]byte{3}).Scan(new(int)); err == nil {
				t.Error("a query writes")
			}
		})
	}
}

// Two processes begin at once with an empty database: each migration is applied once.
func TestProcessesMigrateInTurn(t *testing.T) {
	address := projectiontest.StartPostgres(t).Database(t)
	migrations := fstest.MapFS{
		"01.sql": {Data: []byte(`CREATE TABLE thing (n INTEGER); INSERT INTO thing VALUES (1);`)},
		"02.sql": {Data: []byte(`INSERT INTO thing VALUES (2);`)},
	}
	var processes sync.WaitGroup
	for range 8 {
		processes.Go(func() {
			db, err := projection.OpenDatabase(address, migrations)
			if err == nil {
				err = errors.Join(db.Migrate(t.Context()), db.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	db, err := openNow(t, address, migrations)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v, want 2", rows, err)
	}
}

// Before it is connected everything fails in one way, and once the server is there it works.
func TestNothingWorksBeforeMigrate(t *testing.T) {
	server := projectiontest.StartPostgres(t)
	address := server.Database(t)
	server.Stop(t)
	db, err := projection.OpenDatabase(address, fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INTEGER);`)}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, err := range map[string]error{
		"rows": db.Each(t.Context(), func(*sql.Rows) error {
			return nil
		}, `SELECT 1`), "row": db.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)),
		"transaction": db.InTx(t.Context(), func(projection.Tx) error { return nil }),
	} {
		if !errors.Is(err, projection.ErrNotReady) || !projection.Unavailable(err) {
			t.Errorf("%s: %v, want %v", name, err, projection.ErrNotReady)
		}
	}
	if err := db.Migrate(t.Context()); err == nil || !projection.Unavailable(err) {
		t.Errorf("%v: want a database that is not available", err)
	}
	server.Restart(t)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)); err != nil {
		t.Error(err)
	}
	// What is wrong with a statement is not the database's absence.
	if err := db.QueryRow(t.Context(), `SELECT x FROM thing`).Scan(new(int)); err == nil || projection.Unavailable(err) {
		t.Errorf("%v: want an error that stays", err)
	}
	server.Stop(t)
	if err := db.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)); !projection.Unavailable(err) {
		t.Errorf("%v: want a database that is not available", err)
	}
}

// Whatever is wrong with an address, and whatever the server says: no error shows a password.
func TestNoErrorShowsAPassword(t *testing.T) {
	for _, address := range []string{
		"postgres://gavel:s3cret@127.0.0.1:1/gavel",
		"postgresql://gavel:s3cret@127.0.0.1:1/gavel?connect_timeout=1",
		"postgres://127.0.0.1:1/gavel?user=gavel&password=s3cret",
		"postgres://gavel:s3cret@127.0.0.1:port/gavel",
		"postgres://gavel:s3cret/x@127.0.0.1/gavel",
		"postgres://gavel:s3cret%zz@127.0.0.1/gavel",
		"postgres://gavel:s3cret@127.0.0.1:1/gavel?sslmode=s3cret",
		"postgres://gavel:s3cret@127.0.0.1:1/gavel?connect_timeout=s3cret",
		"postgres:/gavel:s3cret@127.0.0.1", "gavel:s3cret@127.0.0.1", "mysql://gavel:s3cret@127.0.0.1", "s3cret",
	} {
		db, err := projection.OpenDatabase(address, fstest.MapFS{})
		if err == nil {
			err = errors.Join(db.Migrate(context.Background()), db.Close())
		}
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Each stops where it is told to: at an error, or at the end of the context in the middle of the
// rows. The connection is free again.
func TestEachStops(t *testing.T) {
	migrations := fstest.MapFS{
		"01.sql": {Data: []byte(`CREATE TABLE thing (n INTEGER); INSERT INTO thing VALUES (1), (2), (3);`)}}
	for kind, address := range map[string]string{"sqlite": "sqlite::memory:",
		"postgres": projectiontest.StartPostgres(t).Database(t)} {
		t.Run(kind, func(t *testing.T) {
			db, err := openNow(t, address, migrations)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			enough := errors.New("enough")
			for range 2 * projection.MaxReaders {
				ctx, cancel := context.WithCancel(t.Context())
				rows := 0
				count := func(*sql.Rows) error { rows++; return nil }
				stop := func(*sql.Rows) error { rows++; cancel(); return nil }
				fail := func(*sql.Rows) error { rows++; return enough }
				err := []error{
					db.Each(ctx, count, `SELECT n FROM thing`), db.Each(ctx, fail, `SELECT n FROM thing`),
					db.Each(ctx, stop, `SELECT n FROM thing`),
				}
				if err[0] != nil || !errors.Is(err[1], enough) || !errors.Is(err[2], context.Canceled) || rows != 3+1+1 {
					t.Errorf("%v, %d rows", err, rows)
				}
			}
		})
	}
}
