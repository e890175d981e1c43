package ledger

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Totals sums up all refunds for an address since the first block, as of the last multiple of
// Config.TotalsEvery.
func (l *Ledger) Totals(ctx context.Context, at time.Time, recipient common.Address) (rpc.RefundTotals, error) {
	upTo, err := l.totalsUpTo(ctx, at)
	if err != nil {
		return rpc.RefundTotals{}, err
	}
	q := listing{to: math.MaxUint64, upTo: upTo}
	q.addCondition("recipient = ?", recipient[:])
	return l.totals(ctx, q)
}

// MevTotals sums up what an address gets from bundles that followed orders. Otherwise it is like
// Totals.
func (l *Ledger) MevTotals(ctx context.Context, at time.Time, recipient common.Address) (rpc.RefundTotals, error) {
	return l.mevTotals(ctx, at, "recipient = ?", recipient)
}

// MevTotalsOfSender sums up what bundles gave back for following orders of a sender, whoever the
// recipient is. Otherwise it is like Totals. Refunds of facts that do not have a sender are not
// counted for anybody.
func (l *Ledger) MevTotalsOfSender(ctx context.Context, at time.Time, sender common.Address) (rpc.RefundTotals, error) {
	return l.mevTotals(ctx, at, "sender = ?", sender)
}

func (l *Ledger) mevTotals(ctx context.Context, at time.Time, whose string,
	address common.Address) (rpc.RefundTotals, error) {
	upTo, err := l.totalsUpTo(ctx, at)
	if err != nil {
		return rpc.RefundTotals{}, err
	}
	q := listing{to: math.MaxUint64, upTo: upTo}
	q.addCondition(whose, address[:])
	q.addCondition("bundle <> hash") // another bundle brought it
	return l.totals(ctx, q)
}

// DelayedTotals sums up delayed refunds for an address in an inclusive range of blocks; nil sets no
// bound. It is always current. An impossible range is rpc.InvalidRange.
func (l *Ledger) DelayedTotals(ctx context.Context, recipient common.Address, from,
	to *uint64) (rpc.RefundTotals, error) {
	query := rpc.DelayedQuery{Recipient: recipient, FromBlock: from, ToBlock: to}
	if err := checkRange(query); err != nil {
		return rpc.RefundTotals{}, err
	}
	upTo, err := l.IndexedUpTo(ctx)
	if err != nil {
		return rpc.RefundTotals{}, err
	}
	q := delayed(query)
	q.upTo = upTo
	return l.totals(ctx, q)
}

// totals sums up a listing as it was when its last block was the newest. So a refund that was paid
// in a later block counts as pending.
func (l *Ledger) totals(ctx context.Context, q listing) (rpc.RefundTotals, error) {
	q.addCondition("block >= ? AND block <= ?", column(q.from), q.last())
	totals := rpc.RefundTotals{PendingWei: new(uint256.Int), ReceivedWei: new(uint256.Int), UpTo: q.upTo}
	err := l.projection.Each(ctx, func(rows *sql.Rows) error {
		var received int
		var parts [4]int64
		if err := rows.Scan(&received, &parts[0], &parts[1], &parts[2], &parts[3]); err != nil {
			return err
		}
		if received == 1 {
			totals.ReceivedWei = amountOf(parts)
		} else {
			totals.PendingWei = amountOf(parts)
		}
		return nil
	}, `SELECT received, CAST(sum(amount_0) AS BIGINT), CAST(sum(amount_1) AS BIGINT), CAST(sum(amount_2) AS BIGINT), CAST(sum(amount_3) AS BIGINT)
		FROM (SELECT CASE WHEN payout_block <= ? THEN 1 ELSE 0 END AS received, amount_0, amount_1, amount_2, amount_3
			FROM refunds WHERE `+strings.Join(q.conditions, " AND ")+`) AS counted GROUP BY received`,
		append([]any{column(q.upTo)}, q.args...)...)
	if err != nil {
		return rpc.RefundTotals{}, failure("sum up refunds", err)
	}
	return totals, nil
}
