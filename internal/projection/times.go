package projection

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gavel-relay/gavel/internal/store"
)

// The database keeps when some of its newest facts came into the journal: the newest, and the first
// of each second of the last minute. From that it sees how long before its newest fact one was that
// the journal lacks, and whether the journal has other facts under the same numbers.
var timesTables = []string{
	`CREATE TABLE IF NOT EXISTS journal_newest (seq BIGINT NOT NULL, at_ms BIGINT NOT NULL)`,
	`INSERT INTO journal_newest (seq, at_ms) SELECT 0, 0 WHERE NOT EXISTS (SELECT seq FROM journal_newest)`,
	`CREATE TABLE IF NOT EXISTS journal_times (seq BIGINT NOT NULL PRIMARY KEY, at_ms BIGINT NOT NULL)`,
}

const (
	timesEvery = time.Second
	timesFor   = time.Minute
)

// Dated is a journal that knows when its facts came into it.
type Dated interface {
	// TimeOf is when the fact of a number was appended; known is false if that is not there any more.
	TimeOf(ctx context.Context, seq uint64) (at time.Time, known bool, err error)
}

// fixed is a fact whose time is kept.
type fixed struct {
	seq uint64
	at  int64 // ms since 1970
}

// timesOf chooses the facts of a batch whose times are kept, after one that was chosen before.
func timesOf(entries []Entry, before int64) (chosen []fixed) {
	newest := before
	for _, entry := range entries {
		if at := entry.At.UnixMilli(); !entry.At.IsZero() && apart(at, before) >= timesEvery {
			chosen, before = append(chosen, fixed{entry.Seq, at}), at
			newest = at
		}
	}
	for len(chosen) > 0 && apart(chosen[0].at, newest) > timesFor {
		chosen = chosen[1:]
	}
	return chosen
}

// apart is the time between two, whichever was first: clocks are set back.
func apart(a, b int64) time.Duration { return (time.Duration(max(a, b)-min(a, b)) * time.Millisecond) }

// keepTimes keeps the newest of a batch and those that were chosen, and forgets those that are too
// old.
func keepTimes(ctx context.Context, tx store.Tx, entries []Entry, chosen []fixed) error {
	if last := entries[len(entries)-1]; !last.At.IsZero() {
		if _, err := tx.Exec(ctx, `UPDATE journal_newest SET seq = ?, at_ms = ? WHERE seq < ?`, int64(last.Seq),
			last.At.UnixMilli(), int64(last.Seq)); err != nil {
			return err
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	for _, f := range chosen {
		if _, err := tx.Exec(ctx,
			`INSERT INTO journal_times (seq, at_ms) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET at_ms = excluded.at_ms`,
			int64(f.seq), f.at); err != nil {
			return err
		}
	}
	newest := chosen[len(chosen)-1].at
	_, err := tx.Exec(ctx, `DELETE FROM journal_times WHERE at_ms < ? OR at_ms > ?`, newest-timesFor.Milliseconds(),
		newest+timesFor.Milliseconds())
	return err
}

// newestTime is the newest fact; its number is 0 if its time is not known.
func newestTime(ctx context.Context, tx store.Tx) (newest fixed, err error) {
	return oneTime(tx.QueryRow(ctx, `SELECT seq, at_ms FROM journal_newest`))
}

// beforeNewest is how long before the newest fact another one was, to a second; known is false for
// one of which the database does not know it.
func beforeNewest(ctx context.Context, tx store.Tx, seq uint64) (span time.Duration, known bool, err error) {
	newest, err := newestTime(ctx, tx)
	if err != nil {
		return 0, false, err
	}
	that, err := oneTime(tx.QueryRow(ctx, `SELECT seq, at_ms FROM journal_times WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
		int64(seq)))
	return apart(newest.at, that.at), that.seq > 0, err
}

func oneTime(row store.Row) (f fixed, err error) {
	if err := row.Scan(&f.seq, &f.at); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return f, err
	}
	return f, nil
}
