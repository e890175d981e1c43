// Package projection makes SQL projections of facts. It reads the journal at its own pace: whoever
// records facts never waits for it, and after a restart, or when the database was away, it goes on
// where it stopped and misses nothing.
//
//	journal ──Read(from last + 1)──▶ Follow ──batches──▶ Apply ──Decode──▶ Change ──one transaction──▶ tables ◀──Each, QueryRow── the room
//	                                   │ the database fails: pause, read its progress, read the journal again from there
//
// A room has a projection, and brings what is its own: the tables, what each fact does to them
// (Decode), and the queries. Its first migration makes the table progress, with one row:
//
//	CREATE TABLE progress (seq INTEGER NOT NULL);
//	INSERT INTO progress VALUES (0);
//
// A database belongs to one projection of one journal: the progress in it is a place in that
// journal.
package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/store"
)

// Config says what a projection is of.
type Config struct {
	// Name is what the projection is called in the log.
	Name string
	// Migrations are the *.sql files that make the tables, see store.DB.
	Migrations fs.FS
	// Decode reads a fact and tells its change, nil for a fact that changes nothing. All that can be
	// wrong with a fact itself must be found here, so that what fails later is the database's fault.
	// It is pure.
	Decode func(Entry) (Change, error)
	// Applied, if set, is told that the tables may have changed, so that the room can read what is new
	// in them: before the first batch of a Follow, and after every batch that is committed, one call
	// at a time. Its error counts as the database's: it is told again.
	Applied func(ctx context.Context) error
	Log     *slog.Logger
}

// Entry is one fact as the journal keeps it.
type Entry struct {
	Seq     uint64
	At      time.Time // when it came into the journal; zero if that is not known
	Subject string
	Data    []byte
}

// Change is what one fact does to the tables.
type Change func(ctx context.Context, tx store.Tx) error

// Database is what a projection needs of a *store.DB. All of it may fail and succeed when it is
// called again; a transaction that failed is kept whole or not at all, and nobody knows which.
type Database interface {
	Each(ctx context.Context, row func(*sql.Rows) error, query string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) store.Row
	// Migrate connects and makes the tables. Until it has succeeded all else fails; then it does
	// nothing.
	Migrate(ctx context.Context) error
	InTx(ctx context.Context, do func(store.Tx) error) error
	Close() error
}

// Projection is open until Close. It is safe for concurrent use.
type Projection struct {
	// Database has the tables, for the room's queries. A test may put one that fails in front of it,
	// before it uses the projection.
	Database
	cfg     Config
	skipped atomic.Uint64
	// checked says that the database has a place for what is known of its journal; timed is the newest
	// time that it keeps of it, as far as this Projection knows.
	checked atomic.Bool
	timed   atomic.Int64
}

// Open opens a database, see store.Open for its address. SQLite must answer at once; PostgreSQL is
// asked for the first time by Follow, so that a service starts without it, and until it answers
// queries fail with an error that is store.Unavailable.
func Open(ctx context.Context, address string, cfg Config) (*Projection, error) {
	db, err := store.Open(address, cfg.Migrations)
	if err != nil {
		return nil, err
	}
	if db.Local() {
		if err := db.Migrate(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return &Projection{Database: db, cfg: cfg}, nil
}

// Skipped is the number of facts that could not be read since Open. The journal is ours, so that
// each is a mistake that somebody has to see; the log has it.
func (p *Projection) Skipped() uint64 { return p.skipped.Load() }

// Last is the place in the journal up to which the projection is made.
func (p *Projection) Last(ctx context.Context) (seq uint64, err error) {
	if err := p.QueryRow(ctx, `SELECT seq FROM progress`).Scan(&seq); err != nil {
		return 0, fmt.Errorf("read the progress: %w", err)
	}
	return seq, nil
}

// Apply makes the projection of facts, all or none. Facts that were applied before are passed over,
// as are those that change nothing. A fact that cannot be read is logged, counted (Skipped) and
// passed over too: it would never be readable, and those after it must not wait for it.
func (p *Projection) Apply(ctx context.Context, entries []Entry) error {
	return p.applyAfter(ctx, 0, entries)
}

// errLost is about a database that a standby has replaced, or a copy: facts between its progress
// and the batch must be read again.
var errLost = errors.New("the database has lost facts that it had")

// applyAfter is Apply for a follower that knows the progress to be at least done.
func (p *Projection) applyAfter(ctx context.Context, done uint64, entries []Entry) error {
	var unreadable []error
	var times []fixed
	if p.checked.Load() {
		times = timesOf(entries, p.timed.Load())
	}
	err := p.InTx(ctx, func(tx store.Tx) (err error) {
		if unreadable, err = p.applyIn(ctx, tx, done, entries); err != nil {
			return err
		}
		if !p.checked.Load() || len(entries) == 0 {
			return nil
		}
		return keepTimes(ctx, tx, entries, times)
	})
	if err != nil {
		return fmt.Errorf("apply facts: %w", err)
	}
	if len(times) > 0 {
		p.timed.Store(times[len(times)-1].at)
	}
	for _, err := range unreadable { // only now: a batch that failed comes again
		p.skipped.Add(1)
		p.cfg.Log.ErrorContext(ctx, "a fact cannot be read and is missing in a projection", "projection", p.cfg.Name,
			"error", err)
	}
	return p.tell(ctx)
}

// tell tells the room that the tables may have changed.
func (p *Projection) tell(ctx context.Context) error {
	if p.cfg.Applied == nil {
		return nil
	}
	if err := p.cfg.Applied(ctx); err != nil {
		return fmt.Errorf("read what was applied: %w", err)
	}
	return nil
}

// applyIn applies facts in a transaction and answers those that cannot be read.
func (p *Projection) applyIn(ctx context.Context, tx store.Tx, done uint64,
	entries []Entry) (unreadable []error, err error) {
	// The update holds the row: a second process with the same database waits here, and then sees what
	// the first has done.
	var last uint64
	if err := tx.QueryRow(ctx, `UPDATE progress SET seq = seq RETURNING seq`).Scan(&last); err != nil {
		return nil, err
	}
	if last < done {
		return nil, fmt.Errorf("%w: its progress is %d and was %d", errLost, last, done)
	}
	for _, entry := range entries {
		if entry.Seq <= last {
			continue
		}
		last = entry.Seq
		change, err := p.cfg.Decode(entry)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("fact %d (%s): %w", entry.Seq, entry.Subject, err))
		}
		if change == nil {
			continue
		}
		if err := change(ctx, tx); err != nil {
			return nil, fmt.Errorf("fact %d (%s): %w", entry.Seq, entry.Subject, err)
		}
	}
	_, err = tx.Exec(ctx, `UPDATE progress SET seq = ?`, int64(last))
	return unreadable, err
}
