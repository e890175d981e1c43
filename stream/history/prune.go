package history

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gavel-relay/gavel/internal/store"
)

// Retention says what the history keeps. A zero keeps everything.
type Retention struct {
	// Blocks is of how many blocks events are kept, that of the last event being the newest.
	Blocks int64
	// For is how long events are kept after they came.
	For time.Duration
}

// pruneEvery is the time between two looks of Keep.
const pruneEvery = time.Hour

// oldest are the first block and the first second that are kept.
type oldest struct{ block, sec int64 }

// Prune deletes the events that need not be kept, and tells how many they were. What was deleted
// before an error stays deleted. That an order had its event is never forgotten.
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
		err = h.projection.InTx(ctx, func(tx store.Tx) (err error) {
			some, err = pruneChunk(ctx, tx, c, from)
			return err
		})
		if err != nil {
			break
		}
		deleted += some
	}
	if err := errors.Join(err, h.relearn(ctx)); err != nil {
		return deleted, failure("delete old events", err)
	}
	return deleted, nil
}

// oldest finds what is kept. It is the last event that says which block is the newest, not the
// greatest number: a wrong one would take all others with it for good.
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

// pruneChunk deletes a chunk's old events and sums up what is left.
func pruneChunk(ctx context.Context, tx store.Tx, c chunk, from oldest) (deleted int64, err error) {
	if _, err := tx.Exec(ctx, `UPDATE counter SET last = last`); err != nil { // from now on nobody adds to it
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

// Keep prunes at once and then every hour, until the context ends, and looks what other processes
// have deleted. A failure is logged, and the next hour tries again.
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
