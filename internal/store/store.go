// Package store opens the SQL database that views of the facts live in, and brings its tables up to date. It is the only package that knows
// database drivers; rooms use database/sql.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	// write has one connection: SQLite has one writer, so transactions queue here and never meet a lock that this process itself holds.
	write *sql.DB
	// read is for queries, which see the last commit and never wait for the writer. A memory database is its connection's own, so that
	// it has only the one.
	read *sql.DB
}

const (
	driver = "sqlite3"
	// maxReaders queries run at a time, the others wait.
	maxReaders = 4
)

// Open opens "sqlite:PATH" or "sqlite::memory:" and applies the migrations that it does not have yet: the *.sql files of a folder in the
// order of their names, each in a transaction of its own.
func Open(ctx context.Context, address string, migrations fs.FS) (*DB, error) {
	kind, place, found := strings.Cut(address, ":")
	if !found || kind != "sqlite" || place == "" {
		return nil, fmt.Errorf("database %q: want sqlite:PATH, or sqlite::memory: for none on disk", address)
	}
	db, err := connect(place)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", place, err)
	}
	if err := db.migrate(ctx, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", place, err), db.Close())
	}
	return db, nil
}

// connect prepares the connections; the first query makes them.
func connect(place string) (*DB, error) {
	// The path is escaped: it may hold what ends a path in a URL. A transaction takes the write lock when it begins: one that took it later
	// could find that another process has written meanwhile, and fail.
	source := "file:" + (&url.URL{Path: place}).EscapedPath() + "?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000&_foreign_keys=on"
	write, err := sql.Open(driver, source+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	if place == ":memory:" {
		write.SetConnMaxLifetime(0) // its end would be the database's
		write.SetMaxIdleConns(1)
		return &DB{write: write, read: write}, nil
	}
	read, err := sql.Open(driver, source+"&_query_only=on")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(maxReaders)
	read.SetMaxIdleConns(maxReaders)
	return &DB{write: write, read: read}, nil
}

// Query runs a query that changes nothing. The caller closes the rows; in a memory database
// a transaction waits until they are.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, query, args...)
}

// QueryRow is Query for one row; its error comes with Scan.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, query, args...)
}

// Close ends all connections. Running queries fail.
func (db *DB) Close() error {
	err := db.write.Close()
	if db.read != db.write {
		err = errors.Join(err, db.read.Close())
	}
	return err
}

func (db *DB) migrate(ctx context.Context, migrations fs.FS) error {
	if _, err := db.write.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`); err != nil {
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
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(tx); err != nil {
		if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) { // done: the context's end has undone it
			err = errors.Join(err, fmt.Errorf("roll back: %w", undone))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
