package archive

import (
	"context"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
)

const (
	// pruneBatch is how many rows one transaction deletes. It is small, so that facts that come
	// meanwhile wait only for milliseconds.
	pruneBatch = 1000
	// pruneEvery is the time between two runs of Prune by Keep.
	pruneEvery = time.Hour
)

// Prune deletes the received submissions that came before a time and returns their number.
// Delivered payloads and registrations stay. What was deleted before an error stays deleted.
func (a *Archive) Prune(ctx context.Context, before time.Time) (deleted int64, err error) {
	for {
		var batch int64
		err := a.projection.InTx(ctx, func(tx projection.Tx) (err error) {
			batch, err = tx.Exec(ctx,
				`DELETE FROM received WHERE seq IN (SELECT seq FROM received WHERE at_us < ? ORDER BY at_us LIMIT ?)`,
				before.UnixMicro(), pruneBatch)
			return err
		})
		if err != nil {
			return deleted, failure("delete old submissions", err)
		}
		deleted += batch
		if batch < pruneBatch {
			return deleted, nil
		}
	}
}

// Keep prunes at once and then every hour, until the context ends: received submissions stay for
// keepFor after they came, by the clock now. A failure is logged, and the next hour tries again.
// keepFor of 0 or less keeps everything, and Keep returns at once.
func (a *Archive) Keep(ctx context.Context, now func() time.Time, keepFor time.Duration) {
	if keepFor <= 0 {
		return
	}
	hour := time.NewTicker(pruneEvery)
	defer hour.Stop()
	for {
		a.pruneAndTell(ctx, now().Add(-keepFor))
		select {
		case <-hour.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *Archive) pruneAndTell(ctx context.Context, before time.Time) {
	deleted, err := a.Prune(ctx, before)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.WarnContext(ctx, "old submissions could not be deleted; the next try is in an hour", "deleted", deleted,
			"error", err)
	case deleted > 0:
		a.log.InfoContext(ctx, "old submissions deleted", "deleted", deleted, "before", before)
	}
}
