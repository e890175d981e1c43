package projection_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/gavel-relay/gavel/internal/projection"
)

// openNow opens and migrates.
func openNow(t *testing.T, address string, migrations fs.FS) (*projection.DB, error) {
	t.Helper()
	db, err := projection.OpenDatabase(address, migrations)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(t.Context()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func TestMigrationsAreAppliedOnceAndInOrder(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	files := fstest.MapFS{
		"02-row.sql":   {Data: []byte(`INSERT INTO thing VALUES (1);`)},
		"01-table.sql": {Data: []byte(`CREATE TABLE thing (n INT);`)},
	}
	for _, want := range []int{1, 1, 2} {
		if want == 2 { // a later version brings one more
			files["03-row.sql"] = &fstest.MapFile{Data: []byte(`INSERT INTO thing VALUES (2);`)}
		}
		db, err := openNow(t, url, files)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil || rows != want {
			t.Errorf("%d rows, %v, want %d", rows, err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBrokenMigrationLeavesNothing(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	broken := fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT); CREATE TABLE thing (n INT);`)}}
	if _, err := openNow(t, url, broken); err == nil {
		t.Fatal("a broken migration passes")
	}
	db, err := openNow(t, url, fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT);`)}})
	if err != nil {
		t.Fatalf("the broken migration left something: %v", err)
	}
	defer db.Close()
	failed := errors.New("failed")
	err = db.InTx(t.Context(), func(tx projection.Tx) error {
		if _, err := tx.Exec(t.Context(), `INSERT INTO thing VALUES (1)`); err != nil {
			return err
		}
		return failed
	})
	var rows int
	if scanErr := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); !errors.Is(err, failed) ||
		scanErr != nil || rows != 0 {
		t.Errorf("%v, %v, %d rows: want a transaction that left nothing", err, scanErr, rows)
	}
}

func TestUnknownDatabase(t *testing.T) {
	for _, url := range []string{"", "sqlite", "sqlite:", "mysql:x", "sqlite:/dev/null/x.db"} {
		if _, err := openNow(t, url, fstest.MapFS{}); err == nil {
			t.Errorf("%q opens", url)
		}
	}
}

// What ends a path in a URL is part of a file's name here. The folder of a file is made, for its
// owner alone: a service whose journal is elsewhere has nothing else in it.
func TestTheFolderIsMade(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "of", "its own")
	db, err := openNow(t, "sqlite:"+filepath.Join(folder, "x.db"), fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAnyPath(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "50%.db", "a?b.db", "a#b.db"} {
		path := filepath.Join(t.TempDir(), name)
		db, err := openNow(t, "sqlite:"+path, fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT);`)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: the database is elsewhere: %v", name, err)
		}
	}
}

// A query in the middle of a transaction sees what was there before it, without waiting for its
// end; and it cannot write.
func TestQueriesDoNotWaitForTheWriter(t *testing.T) {
	db, err := openNow(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"),
		fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT);`)}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := func() (rows int) {
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil {
			t.Error(err)
		}
		return rows
	}
	err = db.InTx(t.Context(), func(tx projection.Tx) error {
		if _, err := tx.Exec(t.Context(), `INSERT INTO thing VALUES (1)`); err != nil {
			return err
		}
		if rows := count(); rows != 0 {
			t.Errorf("%d rows are seen before they are kept", rows)
		}
		return nil
	})
	if rows := count(); err != nil || rows != 1 {
		t.Errorf("%d rows, %v, want 1", rows, err)
	}
	if err := db.QueryRow(t.Context(), `INSERT INTO thing VALUES (2) RETURNING n`).Scan(new(int)); err == nil {
		t.Error("a query writes")
	}
}

func TestMemoryDatabasesAreApart(t *testing.T) {
	migrations := fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT); INSERT INTO thing VALUES (1);`)}}
	for range 2 { // a shared one would have two rows the second time, or refuse the table
		db, err := openNow(t, "sqlite::memory:", migrations)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var rows int
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows, %v", rows, err)
		}
	}
}
