package ledger

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"
)

// IndexedUpTo is the highest block up to which all refunds are counted; 0 before the first.
func (l *Ledger) IndexedUpTo(ctx context.Context) (block uint64, err error) {
	return l.highest(ctx, `SELECT number FROM blocks ORDER BY number DESC LIMIT 1`)
}

// indexedAt is the highest indexed block whose timestamp is not after a time.
func (l *Ledger) indexedAt(ctx context.Context, at time.Time) (block uint64, err error) {
	return l.highest(ctx, `SELECT number FROM blocks WHERE timestamp <= ? ORDER BY timestamp DESC, number DESC LIMIT 1`,
		at.Unix())
}

func (l *Ledger) highest(ctx context.Context, query string, args ...any) (block uint64, err error) {
	var number int64
	switch err := l.projection.QueryRow(ctx, query, args...).Scan(&number); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, failure("ask how far blocks are indexed", err)
	}
	return uint64(number), nil
}

// detailsUpTo is the highest block whose refunds may be listed now.
func (l *Ledger) detailsUpTo(ctx context.Context, at time.Time) (block uint64, err error) {
	if l.cfg.DetailsDelay <= 0 { // without a delay, the chain's timestamps do not matter
		return l.IndexedUpTo(ctx)
	}
	return l.indexedAt(ctx, at.Add(-l.cfg.DetailsDelay))
}

// totalsUpTo is the highest block that totals include now.
func (l *Ledger) totalsUpTo(ctx context.Context, at time.Time) (block uint64, err error) {
	if l.cfg.TotalsEvery <= 0 {
		return l.IndexedUpTo(ctx)
	}
	since := at.Sub(time.Unix(0, 0))
	return l.indexedAt(ctx, at.Add(-(since % l.cfg.TotalsEvery)))
}

// column is a block's number as the database stores it. Greater numbers become the greatest that
// fits; no block has one.
func column(block uint64) int64 { return int64(min(block, math.MaxInt64)) }
