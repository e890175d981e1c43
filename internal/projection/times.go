package projection

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// The database stores the times of some of its newest facts in the journal: of the newest one, and
// of the first fact in each second of the last minute. They tell how long before the newest fact a
// lost one was, and whether the journal has other facts under the same numbers.
var timesTables = []string{
	`CREATE TABLE IF NOT EXISTS journal_newest (seq BIGINT NOT NULL, at_ms BIGINT NOT NULL)`,
	`INSERT INTO journal_newest (seq, at_ms) SELECT 0, 0 WHERE NOT EXISTS (SELECT seq FROM journal_newest)`,
	`CREATE TABLE IF NOT EXISTS journal_times (seq BIGINT NOT NULL PRIMARY KEY, at_ms BIGINT NOT NULL)`,
}

const (
	timesEvery = time.Second
	timesFor   = time.Minute
)

// Dated is a journal that knows when it stored each fact.
type Dated interface {
	// TimeOf is when the fact of a number was appended; known is false if the journal does not have
	// that fact.
	TimeOf(ctx context.Context, seq uint64) (at time.Time, known bool, err error)
}

// fixed is a fact whose time is stored.
type fixed struct {
	seq uint64
	at  int64 // ms since 1970
}

// timesOf chooses the facts of a batch whose times are stored. before is the time of the newest one
// that was chosen earlier (ms since 1970).
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

// apart is the time between two times, in either order, because a clock may be set back.
func apart(a, b int64) time.Duration { return (time.Duration(max(a, b)-min(a, b)) * time.Millisecond) }

// keepTimes stores the time of the newest fact of a batch and of the chosen ones, and deletes those
// that are too old.
func keepTimes(ctx context.Context, tx Tx, entries []Entry, chosen []fixed) error {
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

// newestTime is the newest fact with its time; its number is 0 if the time is not known.
func newestTime(ctx context.Context, tx Tx) (newest fixed, err error) {
	return oneTime(tx.QueryRow(ctx, `SELECT seq, at_ms FROM journal_newest`))
}

// beforeNewest is how long before the newest fact another one was stored, to a second; known is
// false if the database does not have its time.
func beforeNewest(ctx context.Context, tx Tx, seq uint64) (span time.Duration, known bool, err error) {
	newest, err := newestTime(ctx, tx)
	if err != nil {
		return 0, false, err
	}
	that, err := oneTime(tx.QueryRow(ctx, `SELECT seq, at_ms FROM journal_times WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
		int64(seq)))
	return apart(newest.at, that.at), that.seq > 0, err
}

func oneTime(row Row) (f fixed, err error) {
	if err := row.Scan(&f.seq, &f.at); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return f, err
	}
	return f, nil
}
