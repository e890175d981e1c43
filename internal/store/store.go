// Package store opens the SQL database that views of the facts live in, and brings its tables up to date. It is the only package that knows
// database drivers; rooms use database/sql.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// DB is an open database. SQLite has one writer, so its transactions never wait for a lock that this process itself holds.
type DB struct{ *sql.DB }

// Open opens "sqlite:PATH" or "sqlite::memory:" and applies the migrations that it does not have yet: the *.sql files of a folder in the
// order of their names, each in a transaction of its own.
func Open(ctx context.Context, url string, migrations fs.FS) (*DB, error) {
	kind, place, found := strings.Cut(url, ":")
	if !found || kind != "sqlite" || place == "" {
		return nil, fmt.Errorf("database %q: want sqlite:PATH or sqlite::memory:", url)
	}
	source := "file:" + place + "?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000&_foreign_keys=on"
	raw, err := sql.Open("sqlite3", source)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", place, err)
	}
	// One connection: a memory database is its connection's own, and SQLite serialises writers anyway.
	raw.SetMaxOpenConns(1)
	db := &DB{raw}
	if err := db.migrate(ctx, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", place, err), raw.Close())
	}
	return db, nil
}

func (db *DB) migrate(ctx context.Context, migrations fs.FS) error {
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`); err != nil {
		return err
	}
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := db.apply(ctx, migrations, name); err != nil {
			return fmt.Errorf("migration %s: %w", path.Base(name), err)
		}
	}
	return nil
}

func (db *DB) apply(ctx context.Context, migrations fs.FS, name string) error {
	return db.InTx(ctx, func(tx *sql.Tx) error {
		var applied int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM migrations WHERE name = ?`, name).Scan(&applied); err != nil || applied > 0 {
			return err
		}
		script, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO migrations (name) VALUES (?)`, name)
		return err
	})
}

// InTx runs a function in a transaction: all of it is kept, or none.
func (db *DB) InTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
