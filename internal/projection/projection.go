// Package projection makes SQL projections of facts. It reads the journal at its own pace, so the
// services that record facts never wait for it. After a restart or an outage of the database it
// goes on where it stopped and misses nothing.
//
//	journal ──Read(from last + 1)──▶ Follow ──batches──▶ Apply ──Decode──▶ Change ──one transaction──▶ tables ◀──Each, QueryRow── its owner
//	                                   │ the database fails: pause, read its progress, read the journal again from there
//
// A package that has a projection (relay/archive, for example) brings its tables, what each fact
// does to them (Decode), and its queries. Its first migration must make the table progress, with
// one row:
//
//	CREATE TABLE progress (seq INTEGER NOT NULL);
//	INSERT INTO progress VALUES (0);
//
// A database belongs to one projection of one journal: its progress is a number in that journal. It
// is SQLite or PostgreSQL (database.go). DB connects, brings the tables up to date, and hides the
// differences between the two (dialect.go). No other package imports database drivers.
//
//	OpenDatabase ──▶ nothing works yet ──Migrate (again and again, until it answers)──▶ Each, QueryRow, InTx ──▶ Close
//
// One SQL text is for both: placeholders are written "?", and a row that may exist already is
// inserted with ON CONFLICT.
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
)

// Config describes a projection.
type Config struct {
	// Name is the projection's name in the log and in errors.
	Name string
	// Migrations are the *.sql files that make the tables, see DB.
	Migrations fs.FS
	// Decode reads a fact and returns its change; nil for a fact that changes nothing. It must find
	// everything that can be wrong with the fact itself, so that later errors are the database's.
	// It is pure.
	Decode func(Entry) (Change, error)
	// Applied, if set, is called when the tables may have changed, so that the owner of the
	// projection can read what is new: before the first batch of a Follow, and after each committed
	// batch, one call at a time. Its error counts as one of the database, so it is called again
	// after the next try.
	Applied func(ctx context.Context) error
	Log     *slog.Logger
}

// Entry is one fact as the journal keeps it.
type Entry struct {
	Seq     uint64
	At      time.Time // when the journal stored it; zero if that is not known
	Subject string
	Data    []byte
}

// Change is what one fact does to the tables.
type Change func(ctx context.Context, tx Tx) error

// Database is the part of *DB that a projection needs. Every method may fail and succeed when
// it is called again. After an error a transaction may be committed or not, but always as a whole.
type Database interface {
	Each(ctx context.Context, row func(*sql.Rows) error, query string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Migrate connects and makes the tables. Until it has succeeded all other methods fail. Later
	// calls do nothing.
	Migrate(ctx context.Context) error
	InTx(ctx context.Context, do func(Tx) error) error
	Close() error
}

// Projection is an open projection. The caller must Close it. It is safe for concurrent use.
type Projection struct {
	// Database has the tables, for the owner's queries. A test may put a failing one in front of
	// it, before it uses the projection.
	Database
	cfg     Config
	skipped atomic.Uint64
	// checked says that Check has succeeded, so the database has the tables for its journal's
	// identity and times. timed is the newest of these times that this Projection has written.
	checked atomic.Bool
	timed   atomic.Int64
}

// Open opens a database; see OpenDatabase for its address. SQLite must answer at once. Open does
// not connect to PostgreSQL, so a service can start without it; Follow does. Until the database
// answers, queries fail with an error that is Unavailable.
func Open(ctx context.Context, address string, cfg Config) (*Projection, error) {
	db, err := OpenDatabase(address, cfg.Migrations)
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

// Skipped is the number of facts since Open that could not be read. Our own services write the
// journal, so each is a bug that somebody must see; the log has the error.
func (p *Projection) Skipped() uint64 { return p.skipped.Load() }

// Last is the number of the newest fact of the journal that is applied.
func (p *Projection) Last(ctx context.Context) (seq uint64, err error) {
	if err := p.QueryRow(ctx, `SELECT seq FROM progress`).Scan(&seq); err != nil {
		return 0, fmt.Errorf("read the progress: %w", err)
	}
	return seq, nil
}

// Apply applies facts, all or none. It ignores facts that were applied before, and those that
// change nothing. A fact that cannot be read is logged, counted (Skipped) and ignored, too: it
// would never become readable, and later facts must not wait for it.
func (p *Projection) Apply(ctx context.Context, entries []Entry) error {
	return p.applyAfter(ctx, 0, entries)
}

// errLost says that the database's progress has gone back, because a standby or a copy has replaced
// it. Follow then reads the facts from that progress on again.
var errLost = errors.New("the database has lost facts that it had")

// applyAfter is Apply for a caller that has seen the progress done; an older progress is errLost.
func (p *Projection) applyAfter(ctx context.Context, done uint64, entries []Entry) error {
	var unreadable []error
	var times []fixed
	if p.checked.Load() {
		times = timesOf(entries, p.timed.Load())
	}
	err := p.InTx(ctx, func(tx Tx) (err error) {
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
	for _, err := range unreadable { // only now, because a batch that failed is applied again
		p.skipped.Add(1)
		p.cfg.Log.ErrorContext(ctx, "a fact cannot be read and is missing in a projection", "projection", p.cfg.Name,
			"error", err)
	}
	return p.tell(ctx)
}

// tell calls Applied, because the tables may have changed.
func (p *Projection) tell(ctx context.Context) error {
	if p.cfg.Applied == nil {
		return nil
	}
	if err := p.cfg.Applied(ctx); err != nil {
		return fmt.Errorf("read what was applied: %w", err)
	}
	return nil
}

// applyIn applies facts in a transaction, and returns the errors of those that cannot be read.
func (p *Projection) applyIn(ctx context.Context, tx Tx, done uint64,
	entries []Entry) (unreadable []error, err error) {
	// The update locks the row, so a second process with the same database waits here, and then
	// sees what the first has done.
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
