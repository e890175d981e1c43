// Package archive makes SQL views of the relay's facts, for the Data API. It reads the journal at its own pace: the auction never waits
// for it, and after a restart, or when the database was away, it goes on where it stopped and misses nothing.
//
//	journal ──Read(from last + 1)──▶ Follow ──batches──▶ Apply ──one transaction──▶ tables ◀──queries── api/data
//	                                   │ the database fails: pause, read its progress, read the journal again from there
//
// A database belongs to one journal: the progress in it is a place in that journal.
package archive

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/relay"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Archive is open until Close. It is safe for concurrent use.
type Archive struct {
	database database
	log      *slog.Logger
	skipped  atomic.Uint64
}

// database is what the archive needs of a *store.DB. All of it may fail and succeed when it is called again; a transaction that failed is kept
// whole or not at all, and nobody knows which.
type database interface {
	Each(ctx context.Context, row func(*sql.Rows) error, query string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) store.Row
	// Migrate connects and makes the tables. Until it has succeeded all else fails; then it does nothing.
	Migrate(ctx context.Context) error
	InTx(ctx context.Context, do func(store.Tx) error) error
	Close() error
}

// Open opens a database, see store.Open for its address. SQLite must answer at once; PostgreSQL is asked for the first time by Follow, so that
// a relay starts without it, and until it answers queries fail with relay.ArchiveUnavailable.
func Open(ctx context.Context, address string, log *slog.Logger) (*Archive, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := store.Open(address, migrations)
	if err != nil {
		return nil, err
	}
	if db.Local() {
		if err := db.Migrate(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return &Archive{database: db, log: log}, nil
}

// Close closes the database.
func (a *Archive) Close() error { return a.database.Close() }

// Skipped is the number of facts that could not be read since Open. The journal is ours, so that each is a mistake that somebody has to see;
// the log has it.
func (a *Archive) Skipped() uint64 { return a.skipped.Load() }

// Last is the place in the journal up to which the views are made.
func (a *Archive) Last(ctx context.Context) (seq uint64, err error) {
	if err := a.database.QueryRow(ctx, `SELECT seq FROM progress`).Scan(&seq); err != nil {
		return 0, failure("read the archive's progress", err)
	}
	return seq, nil
}

// failure wraps an error of the database. One that is over when the database answers again is relay.ArchiveUnavailable too.
func failure(action string, err error) error {
	if store.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, relay.ArchiveUnavailable.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}

// Entry is one fact as the journal keeps it.
type Entry struct {
	Seq     uint64
	Subject string
	Data    []byte
}

// Apply makes views of facts, all or none. Facts that were applied before are passed over, as are facts of other kinds. A fact that cannot be
// read is logged, counted (Skipped) and passed over too: it would never be readable, and those after it must not wait for it.
func (a *Archive) Apply(ctx context.Context, entries []Entry) error {
	return a.applyAfter(ctx, 0, entries)
}

// errLost is about a database that a standby has replaced, or a copy: facts between its progress and the batch must be read again.
var errLost = errors.New("the database has lost facts that it had")

// applyAfter is Apply for a follower that knows the progress to be at least done.
func (a *Archive) applyAfter(ctx context.Context, done uint64, entries []Entry) error {
	var unreadable []error
	err := a.database.InTx(ctx, func(tx store.Tx) error {
		unreadable = nil
		// The update holds the row: a second process with the same database waits here, and then sees what the first has done.
		var last uint64
		if err := tx.QueryRow(ctx, `UPDATE progress SET seq = seq RETURNING seq`).Scan(&last); err != nil {
			return err
		}
		if last < done {
			return fmt.Errorf("%w: its progress is %d and was %d", errLost, last, done)
		}
		for _, entry := range entries {
			if entry.Seq <= last {
				continue
			}
			last = entry.Seq
			change, err := decode(entry)
			if err != nil {
				unreadable = append(unreadable, fmt.Errorf("fact %d (%s): %w", entry.Seq, entry.Subject, err))
			}
			if change == nil {
				continue
			}
			if err := change(ctx, tx); err != nil {
				return fmt.Errorf("fact %d (%s): %w", entry.Seq, entry.Subject, err)
			}
		}
		_, err := tx.Exec(ctx, `UPDATE progress SET seq = ?`, int64(last))
		return err
	})
	if err != nil {
		return failure("apply facts", err)
	}
	for _, err := range unreadable { // only now: a batch that failed comes again
		a.skipped.Add(1)
		a.log.ErrorContext(ctx, "a fact cannot be read and is missing in the archive", "err", err)
	}
	return nil
}
