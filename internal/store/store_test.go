package store

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
)

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
		db, err := Open(t.Context(), url, files)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); err != nil || rows != want {
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
	if _, err := Open(t.Context(), url, broken); err == nil {
		t.Fatal("a broken migration passes")
	}
	db, err := Open(t.Context(), url, fstest.MapFS{"01.sql": {Data: []byte(`CREATE TABLE thing (n INT);`)}})
	if err != nil {
		t.Fatalf("the broken migration left something: %v", err)
	}
	defer db.Close()
	failed := errors.New("failed")
	err = db.InTx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), `INSERT INTO thing VALUES (1)`); err != nil {
			return err
		}
		return failed
	})
	var rows int
	if scanErr := db.QueryRowContext(t.Context(), `SELECT count(*) FROM thing`).Scan(&rows); !errors.Is(err, failed) || scanErr != nil || rows != 0 {
		t.Errorf("%v, %v, %d rows: want a transaction that left nothing", err, scanErr, rows)
	}
}

func TestUnknownDatabase(t *testing.T) {
	for _, url := range []string{"", "sqlite", "sqlite:", "mysql:x", "sqlite:/no/such/folder/x.db"} {
		if _, err := Open(t.Context(), url, fstest.MapFS{}); err == nil {
			t.Errorf("%q opens", url)
		}
	}
}
