package ledger

import (
	"context"
	"database/sql"
	"math"

	"github.com/gavel-relay/gavel/rpc"
)

// Pending returns all refunds whose payouts were not seen, of indexed blocks from the given one on,
// the oldest block first. The indexer calls it once, at its start.
func (l *Ledger) Pending(ctx context.Context, from uint64) (list []rpc.Refund, err error) {
	q := listing{from: from, to: math.MaxUint64}
	if q.upTo, err = l.IndexedUpTo(ctx); err != nil {
		return nil, err
	}
	q.addCondition("payout_tx IS NULL")
	query, args := q.statement(q.start(position{}), math.MaxInt64)
	err = l.projection.Each(ctx, func(rows *sql.Rows) error {
		record, _, err := scanRefund(rows)
		list = append(list, record.Refund)
		return err
	}, query, args...)
	if err != nil {
		return nil, failure("list pending refunds", err)
	}
	return list, nil
}
