package projection

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
	// write has one connection. SQLite allows one writer, so transactions queue here and never meet
	// a lock of this process itself. For PostgreSQL one connection is enough, too.
	write *sql.DB
	// read is for queries, which see the last commit and never wait for the writer. A database in
	// memory exists in one connection only, so read is write then.
	read *sql.DB
	// migrating is held during Migrate.
	migrating sync.Mutex
	ready     atomic.Bool
}

// maxReaders is how many queries run at a time; others wait.
const maxReaders = 4

// ErrNotReady is the error of all calls before the first Migrate that succeeds.
var ErrNotReady = errors.New("the database is not connected yet")

// OpenDatabase prepares a database "sqlite:PATH", "sqlite::memory:" or
// "postgres://USER:PASSWORD@HOST:PORT/NAME?…". It does not connect: Migrate does, and until it has
// succeeded all other methods return ErrNotReady. migrations has *.sql files, see Migrate. An error
// never shows a password.
func OpenDatabase(address string, migrations fs.FS) (*DB, error) {
	dialect, name, write, read, err := openDatabase(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{dialect: dialect, name: name, migrations: migrations, write: write, read: read}, nil
}

// Local says that the database is a file or memory of this process: if it does not answer now, it
// will hardly answer later.
func (db *DB) Local() bool { return db.dialect == sqlite }

// Each runs a query that changes nothing, and calls row with each row, for Scan. It ends with the
// rows, with the context, or with the error of row. With a database in memory, transactions and
// other queries wait meanwhile.
func (db *DB) Each(ctx context.Context, row func(*sql.Rows) error, query string, args ...any) error {
	if !db.ready.Load() {
		return ErrNotReady
	}
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // Close only returns it to the pool
	watched := ctx
	if db.Local() {
		// The driver would watch the context with a goroutine for each row. Checking it in the loop
		// below is enough.
		watched = context.WithoutCancel(ctx)
	}
	rows, err := conn.QueryContext(watched, db.dialect.bind(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the errors
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

// QueryRow queries one row. Its error comes with Scan.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) Row {
	if !db.ready.Load() {
		return Row{err: ErrNotReady}
	}
	return Row{row: db.read.QueryRowContext(ctx, db.dialect.bind(query), args...)}
}

// Row is the result of a query for one row.
type Row struct {
	row *sql.Row
	err error
}

// Scan copies the columns; see sql.Row.
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

// Tx is a transaction. Only the function that got it from InTx may use it, in one goroutine.
type Tx struct {
	tx      *sql.Tx
	dialect *dialect
	// prepared are the statements that ran before in this transaction, for SQLite, which takes
	// longer to parse a statement than to run it. PostgreSQL's driver does this by itself. The end
	// of the transaction closes them.
	prepared map[string]*sql.Stmt
}

// Exec runs a statement and returns how many rows it changed.
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

// execPrepared runs a statement, without parsing it again if it ran before. The driver would watch
// the context with a goroutine for each statement. Statements are short, so it is enough to check
// the context before.
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

// QueryRow queries one row. Its error comes with Scan.
func (tx Tx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return Row{row: tx.tx.QueryRowContext(ctx, tx.dialect.bind(query), args...)}
}

// InTx runs a function in a transaction, which is committed if the function returns nil. After an
// error of a statement the function must return, because PostgreSQL accepts nothing more in that
// transaction.
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
		// ErrTxDone: the end of the context has rolled it back
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
