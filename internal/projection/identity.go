package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Log is a journal with an identity.
type Log interface {
	// ID is the identity of the log; each log has another.
	ID() string
	Progress
}

// ErrOtherJournal says that a database was made of another journal, or of one that has lost facts
// since. New facts of this journal would be ignored, because their numbers look as if they were in
// the projection already.
var ErrOtherJournal = errors.New("the database is not one of this journal")

// Refused says that the operator must act on an error of Check: the database does not belong to
// this journal or this program, and trying again does not help.
func Refused(err error) bool {
	return errors.Is(err, ErrOtherJournal) || errors.Is(err, ErrNewer)
}

// Skipper is a journal that can skip numbers.
type Skipper interface {
	// Skip fills the numbers up to upTo, so that no fact gets them. It returns an error for a
	// cluster's journal.
	Skip(ctx context.Context, upTo uint64) error
	// ClosedCleanly says that the journal was closed in order before it was opened, so that it lost
	// nothing in a power cut.
	ClosedCleanly() bool
}

const (
	// lostFor bounds the time span of facts that a power cut can have cost: the engine syncs each
	// second, and a slow disk takes longer. A journal that lacks a longer span was restored from a
	// copy, and its state with it. Then the operator has to decide.
	lostFor = 10 * time.Second
	// mayBeLost bounds their number, because each number has to be filled.
	mayBeLost = 1 << 18
)

// lostFacts says that the database has facts that its journal does not have.
type lostFacts struct {
	last, newest uint64
	// span is the time between the first and the last of them, to a second; dated is false if the
	// database does not know it.
	span  time.Duration
	dated bool
}

// Error implements error.
func (l *lostFacts) Error() string {
	return fmt.Sprintf("facts up to %d are in the database, up to %d in the journal", l.last, l.newest)
}

// byPowerCut says whether a power cut may have cost them.
func (l *lostFacts) byPowerCut() bool {
	return l.dated && l.span <= lostFor && l.last-l.newest <= mayBeLost
}

// whatToDo ends the errors of Check.
const whatToDo = "restore the journal that the database was made of, or give --db another database: it is filled " +
	"from this journal"

// Check refuses a journal from which the database was not made, and one that is behind the
// database. A database that records no journal, because it is new or an earlier version made it, is
// assigned to this one. If the journal may have lost its newest facts in a power cut, Check lets it
// skip their numbers instead of refusing it.
func (p *Projection) Check(ctx context.Context, journal Log) error {
	if err := p.Migrate(ctx); err != nil {
		return err
	}
	newest, err := journal.Last(ctx)
	if err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	err = p.checkIn(ctx, journal, newest)
	lost := (*lostFacts)(nil)
	if !errors.As(err, &lost) {
		if err == nil {
			p.checked.Store(true)
		}
		return err
	}
	skipper, ok := journal.(Skipper)
	if ok && lost.byPowerCut() && !skipper.ClosedCleanly() {
		if err = skipper.Skip(ctx, lost.last); err == nil {
			p.cfg.Log.ErrorContext(ctx,
				"the journal has lost its newest facts, as after a power cut: their numbers are left out", "projection", p.cfg.Name,
				"facts", lost.last-lost.newest, "after", lost.newest)
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%w: the %s has facts up to %d, this journal up to %d: it was restored or has lost "+
		"facts: %s",
		ErrOtherJournal, p.cfg.Name, lost.last, lost.newest, whatToDo), unlessOurs(err))
}

// unlessOurs is err without lostFacts, which the caller has already put into its own words.
func unlessOurs(err error) error {
	if lost := (*lostFacts)(nil); errors.As(err, &lost) {
		return nil
	}
	return err
}

// checkIn compares the journal that the database records with this one, which has facts up to
// newest.
func (p *Projection) checkIn(ctx context.Context, journal Log, newest uint64) error {
	id := journal.ID()
	return p.InTx(ctx, func(tx Tx) error {
		for _, table := range append([]string{`CREATE TABLE IF NOT EXISTS journal (id TEXT NOT NULL)`}, timesTables...) {
			if _, err := tx.Exec(ctx, table); err != nil {
				return err
			}
		}
		var last uint64
		if err := tx.QueryRow(ctx, `UPDATE progress SET seq = seq RETURNING seq`).Scan(&last); err != nil {
			return err
		}
		var known string
		err := tx.QueryRow(ctx, `SELECT id FROM journal`).Scan(&known)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case err == nil && known != id:
			return fmt.Errorf("%w: the %s is of journal %s, this is %s: %s", ErrOtherJournal, p.cfg.Name, known, id, whatToDo)
		case newest < last && err == nil:
			span, dated, err := beforeNewest(ctx, tx, newest+1)
			if err != nil {
				return err
			}
			return &lostFacts{last, newest, span, dated}
		case newest < last: // the database of an earlier version does not say whether it is the same journal
			return fmt.Errorf("%w: the %s has facts up to %d, this journal up to %d: it was restored or has lost facts: %s",
				ErrOtherJournal, p.cfg.Name, last, newest, whatToDo)
		case err == nil:
			return p.checkTimes(ctx, tx, journal)
		}
		p.cfg.Log.InfoContext(ctx, "a database belongs to this journal from now on", "projection", p.cfg.Name, "journal", id,
			"facts", last)
		_, err = tx.Exec(ctx, `INSERT INTO journal (id) VALUES (?)`, id)
		return err
	})
}

// checkTimes refuses a journal whose fact has another time than the database recorded for its
// number. Such a journal was restored or has lost facts, and has gone on since.
func (p *Projection) checkTimes(ctx context.Context, tx Tx, journal Log) error {
	dated, ok := journal.(Dated)
	if !ok {
		return nil
	}
	known, err := newestTime(ctx, tx)
	if err != nil || known.seq == 0 {
		return err
	}
	at, there, err := dated.TimeOf(ctx, known.seq)
	if err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	if there && at.UnixMilli() != known.at {
		return fmt.Errorf("%w: fact %d is of %s in the %s, and of %s in this journal, which was restored or has lost "+
			"facts and has gone on since: %s", ErrOtherJournal,
			known.seq, time.UnixMilli(known.at).UTC().Format(time.RFC3339Nano), p.cfg.Name, at.UTC().Format(time.RFC3339Nano),
			whatToDo)
	}
	return nil
}

// startPatience is how long a start waits for a database. The service can start without it.
const startPatience = 5 * time.Second

// CheckAtStart is Check for a service that starts. If a remote database does not answer,
// CheckAtStart returns nil, and Follow checks the database later.
func (p *Projection) CheckAtStart(ctx context.Context, journal Log) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := p.Check(ctx, journal); Refused(err) || p.Local() {
		return err
	}
	return nil
}

// Local says whether the database is a file or memory of this process.
func (p *Projection) Local() bool {
	db, ok := p.Database.(interface{ Local() bool })
	return ok && db.Local()
}
