package history

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
)

// Retention says what the history keeps. A zero value is no bound.
type Retention struct {
	// Blocks is for how many blocks events are kept, counted back from the block of the last event.
	Blocks int64
	// For is how long events are kept.
	For time.Duration
}

// pruneEvery is the time between two calls of Prune by Keep.
const pruneEvery = time.Hour

// oldest has the first block and the first second (since 1970) that are kept.
type oldest struct{ block, sec int64 }

// Prune deletes events beyond keep, and returns their number. Events that were deleted before an
// error stay deleted. The hashes of their orders are kept, so that no order gets a second event.
func (h *History) Prune(ctx context.Context, now time.Time, keep Retention) (deleted int64, err error) {
	known := h.known.Load()
	if known == nil {
		return 0, errUnknown
	}
	from, err := h.oldest(ctx, now, keep)
	if err != nil {
		return 0, failure("find the newest event", err)
	}
	for c := range known.all {
		if c.events == 0 || c.blocks.From >= from.block && c.times.From >= from.sec {
			continue
		}
		var some int64
		err = h.projection.InTx(ctx, func(tx projection.Tx) (err error) {
			some, err = pruneChunk(ctx, tx, c, from)
			return err
		})
		if err != nil {
			break
		}
		deleted += some
	}
	if err := errors.Join(err, h.resummarize(ctx)); err != nil {
		return deleted, failure("delete old events", err)
	}
	return deleted, nil
}

// oldest finds the first block and second to keep. The newest block is that of the last event and
// not the highest number: a single wrong high number would delete all other events.
func (h *History) oldest(ctx context.Context, now time.Time, keep Retention) (from oldest, err error) {
	if keep.For > 0 {
		from.sec = now.Add(-keep.For).Unix()
	}
	if keep.Blocks > 0 {
		err = h.projection.QueryRow(ctx, `SELECT block FROM events ORDER BY id DESC LIMIT 1`).Scan(&from.block)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		from.block = max(0, from.block-keep.Blocks+1)
	}
	return from, err
}

// pruneChunk deletes a chunk's old events and sums up the rest again.
func pruneChunk(ctx context.Context, tx projection.Tx, c chunk, from oldest) (deleted int64, err error) {
	// locks the counter, so that no process adds events meanwhile
	if _, err := tx.Exec(ctx, `UPDATE counter SET last = last`); err != nil {
		return 0, err
	}
	deleted, err = tx.Exec(ctx, `DELETE FROM events WHERE id >= ? AND id <= ? AND (block < ? OR at_s < ?)`, c.first(),
		c.last(), from.block, from.sec)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM chunks WHERE chunk = ?`, c.number); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO chunks (chunk, events, min_block, max_block, min_at_s, max_at_s)
		SELECT (id - 1) / 1024, count(*), min(block), max(block), min(at_s), max(at_s) FROM events WHERE id >= ? AND id <= ? GROUP BY 1`,
		c.first(), c.last())
	return deleted, err
}

// Keep prunes at once and then every hour, until the context ends. It also notices what other
// processes have deleted. It logs a failure, and tries again after an hour.
func (h *History) Keep(ctx context.Context, now func() time.Time, keep Retention) {
	hour := time.NewTicker(pruneEvery)
	defer hour.Stop()
	for {
		h.pruneAndTell(ctx, now(), keep)
		select {
		case <-hour.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *History) pruneAndTell(ctx context.Context, now time.Time, keep Retention) {
	deleted, err := h.Prune(ctx, now, keep)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.cfg.Log.WarnContext(ctx, "old events could not be deleted; the next try is in an hour", "deleted", deleted,
			"error", err)
	case deleted > 0:
		h.cfg.Log.InfoContext(ctx, "old events deleted", "deleted", deleted, "before", now)
	}
}
