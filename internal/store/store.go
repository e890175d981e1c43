// Package store is the SQL database that projections of the facts live in: SQLite or PostgreSQL. It
// connects, brings the tables up to date, and hides where the two differ (dialect.go). It is the
// only package that knows database drivers.
//
//	Open ──▶ nothing works yet ──Migrate (again and again, until the database answers)──▶ Each, QueryRow, InTx ──▶ Close
//
// One SQL text serves both: places are written "?", and a row that may be there already is inserted
// with ON CONFLICT.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
)

// DB is a database. It is safe for concurrent use.
type DB struct {
	dialect *dialect
	// name is the address without its password.
	name       string
	migrations fs.FS
	// write has one connection: SQLite has one writer, so transactions queue here and never meet a
	// lock that this process itself holds. For PostgreSQL one is enough too.
	write *sql.DB
	// read is for queries, which see the last commit and never wait for the writer. A memory database
	// is its connection's own, so that it has only the one.
	read *sql.DB
	// migrating lets one Migrate of this process run at a time.
	migrating sync.Mutex
	ready     atomic.Bool
}

// maxReaders queries run at a time, the others wait.
const maxReaders = 4

// ErrNotReady is the answer to everything that comes before the first Migrate that succeeds.
var ErrNotReady = errors.New("the database is not connected yet")

// Open prepares "sqlite:PATH", "sqlite::memory:" or "postgres://USER:PASSWORD@HOST:PORT/NAME?…" and
// connects to nothing: Migrate does, and until it has succeeded all else answers ErrNotReady. The
// migrations are the *.sql files of a folder, see Migrate. An error never shows a password.
func Open(address string, migrations fs.FS) (*DB, error) {
	dialect, name, write, read, err := open(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{dialect: dialect, name: name, migrations: migrations, write: write, read: read}, nil
}

// Local tells that the database is a file or memory of this process: if it does not answer now, it
// hardly will later.
func (db *DB) Local() bool { return db.dialect == sqlite }

// Each runs a query that changes nothing and hands over its rows, for Scan, until they end, the
// context ends or the function fails (its error). In a memory database transactions and other
// queries wait meanwhile.
func (db *DB) Each(ctx context.Context, row func(*sql.Rows) error, query string, args ...any) error {
	if !db.ready.Load() {
		return ErrNotReady
	}
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // only gives it back
	watched := ctx
	if db.Local() {
		// the driver would watch the context with a goroutine for each row; the loop below is enough
		watched = context.WithoutCancel(ctx)
	}
	rows, err := conn.QueryContext(watched, db.dialect.bind(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what can fail is in rows.Err
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// QueryRow is for one row; its error comes with Scan.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) Row {
	if !db.ready.Load() {
		return Row{err: ErrNotReady}
	}
	return Row{row: db.read.QueryRowContext(ctx, db.dialect.bind(query), args...)}
}

// Row is the answer to a query for one row.
type Row struct {
	row *sql.Row
	err error
}

// Scan copies the columns, see sql.Row.
func (r Row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.row.Scan(into...)
}

// Close ends all connections. Running queries fail.
func (db *DB) Close() error {
	err := db.write.Close()
	if db.read != db.write {
		err = errors.Join(err, db.read.Close())
	}
	return err
}

// Tx is a transaction. It is for the function that InTx gave it to, and for one goroutine.
type Tx struct {
	tx      *sql.Tx
	dialect *dialect
	// prepared are the statements that ran before, for SQLite: to read one takes it longer than to run
	// it. PostgreSQL's driver does this by itself. The transaction's end closes them.
	prepared map[string]*sql.Stmt
}

// Exec runs a statement and tells how many rows it changed.
func (tx Tx) Exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	var result sql.Result
	if tx.dialect == sqlite {
		result, err = tx.execPrepared(ctx, statement, args)
	} else {
		result, err = tx.tx.ExecContext(ctx, tx.dialect.bind(statement), args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execPrepared runs a statement, without reading it again if it ran before. The driver would watch
// the context with a goroutine for each statement; they are short, so it is enough to look at it
// before.
func (tx Tx) execPrepared(ctx context.Context, statement string, args []any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	known := tx.prepared[statement]
	if known == nil {
		var err error
		if known, err = tx.tx.PrepareContext(ctx, statement); err != nil {
			return nil, err
		}
		tx.prepared[statement] = known
	}
	return known.ExecContext(ctx, args...)
}

// QueryRow asks for one row; its error comes with Scan.
func (tx Tx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return Row{row: tx.tx.QueryRowContext(ctx, tx.dialect.bind(query), args...)}
}

// InTx runs a function in a transaction: all of it is kept, or none. After an error of PostgreSQL
// inside the function it must return: the transaction takes nothing more.
func (db *DB) InTx(ctx context.Context, do func(Tx) error) error {
	if !db.ready.Load() {
		return ErrNotReady
	}
	return db.inTx(ctx, do)
}

func (db *DB) inTx(ctx context.Context, do func(Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(Tx{tx, db.dialect, map[string]*sql.Stmt{}}); err != nil {
		// done: the context's end has undone it
		if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("roll back: %w", undone))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
