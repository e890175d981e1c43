package ledger

import (
	"context"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
)

// pruneBatch is how many orders one transaction deletes, so that facts that come meanwhile wait
// only for milliseconds.
const pruneBatch = 1000

// Prune forgets the orders that ended before a time, and returns how many they were. Refunds stay.
// After an error, what was forgotten so far stays forgotten.
func (l *Ledger) Prune(ctx context.Context, before time.Time) (forgotten int64, err error) {
	for {
		var batch int64
		err := l.projection.InTx(ctx, func(tx projection.Tx) (err error) {
			batch, err = pruneOnce(ctx, tx, before)
			return err
		})
		if err != nil {
			return forgotten, failure("forget old orders", err)
		}
		forgotten += batch
		if batch < pruneBatch {
			return forgotten, nil
		}
	}
}

// pruneOnce forgets a batch: first the sendings of its orders, then the orders.
func pruneOnce(ctx context.Context, tx projection.Tx, before time.Time) (forgotten int64, err error) {
	const old = `(SELECT hash, signer FROM orders WHERE ended_us < ? ORDER BY ended_us, hash, signer LIMIT ?)`
	if _, err := tx.Exec(ctx, `DELETE FROM sendings WHERE (hash, signer) IN `+old, before.UnixMicro(),
		pruneBatch); err != nil {
		return 0, err
	}
	return tx.Exec(ctx, `DELETE FROM orders WHERE (hash, signer) IN `+old, before.UnixMicro(), pruneBatch)
}
