package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// ByRecipient lists refunds for an address, the oldest block first, from Config.EarliestBlock on,
// of blocks that are at least Config.DetailsDelay old. Refunds that are indexed while a client
// reads pages come on a later page. A cursor never goes back: if blocks below it are reverted, the
// refunds of the blocks that replace them are listed only to a client that begins again. A wrong
// cursor is rpc.InvalidCursor.
func (l *Ledger) ByRecipient(ctx context.Context, at time.Time, recipient common.Address, cursor string,
	limit int) (rpc.RefundPage, error) {
	q := listing{name: fmt.Sprintf("recipient %x", recipient), from: l.cfg.EarliestBlock, to: math.MaxUint64}
	q.addCondition("recipient = ?", recipient[:])
	return l.details(ctx, at, q, cursor, limit)
}

// ByBundle lists refunds that an order brought, or that an order got from the bundles that followed
// it. Otherwise it is like ByRecipient.
func (l *Ledger) ByBundle(ctx context.Context, at time.Time, hash common.Hash, cursor string,
	limit int) (rpc.RefundPage, error) {
	q := listing{name: fmt.Sprintf("bundle %x", hash), to: math.MaxUint64}
	q.addCondition("(hash = ? OR bundle = ?)", hash[:], hash[:])
	return l.details(ctx, at, q, cursor, limit)
}

// ByBlock lists the refunds of a block. Otherwise it is like ByRecipient.
func (l *Ledger) ByBlock(ctx context.Context, at time.Time, block uint64, cursor string,
	limit int) (rpc.RefundPage, error) {
	q := listing{name: fmt.Sprintf("block %d", block), from: block, to: block}
	return l.details(ctx, at, q, cursor, limit)
}

func (l *Ledger) details(ctx context.Context, at time.Time, q listing, cursor string,
	limit int) (page rpc.RefundPage, err error) {
	if q.upTo, err = l.detailsUpTo(ctx, at); err != nil {
		return rpc.RefundPage{}, err
	}
	return l.page(ctx, q, cursor, limit)
}

// Delayed lists delayed refunds of indexed blocks. While the query's last block is not indexed,
// every page has a cursor, even the last one, since more may follow. An impossible range is
// rpc.InvalidRange, a wrong cursor rpc.InvalidCursor.
func (l *Ledger) Delayed(ctx context.Context, query rpc.DelayedQuery, cursor string,
	limit int) (page rpc.RefundPage, err error) {
	if err := checkRange(query); err != nil {
		return rpc.RefundPage{}, err
	}
	q := delayed(query)
	if q.upTo, err = l.IndexedUpTo(ctx); err != nil {
		return rpc.RefundPage{}, err
	}
	q.unfinished = query.ToBlock != nil && q.to > q.upTo
	return l.page(ctx, q, cursor, limit)
}

// checkRange refuses an impossible range.
func checkRange(query rpc.DelayedQuery) error {
	switch from, to := query.FromBlock, query.ToBlock; {
	case from != nil && to != nil && *from > *to:
		return rpc.InvalidRange.With("blockRangeFrom %d is above blockRangeTo %d", *from, *to)
	case query.Hash != nil && (from == nil || to == nil):
		return rpc.InvalidRange.With("hash comes without both blockRangeFrom and blockRangeTo")
	default:
		return nil
	}
}

// delayed is the listing of a query.
func delayed(query rpc.DelayedQuery) (q listing) {
	q.name, q.to = fmt.Sprintf("delayed %x", query.Recipient), math.MaxUint64
	q.addCondition("recipient = ?", query.Recipient[:])
	q.addCondition("delayed = 1")
	if query.FromBlock != nil {
		q.name += fmt.Sprintf(" from %d", *query.FromBlock)
		q.from = *query.FromBlock
	}
	if query.ToBlock != nil {
		q.name += fmt.Sprintf(" to %d", *query.ToBlock)
		q.to = *query.ToBlock
	}
	if query.Hash != nil {
		q.name += fmt.Sprintf(" hash %x", *query.Hash)
		q.addCondition("(hash = ? OR bundle = ?)", query.Hash[:], query.Hash[:])
	}
	return q
}

// listing is a list of refunds that is answered in pages.
type listing struct {
	// name distinguishes the query from all others, for its cursors.
	name string
	// conditions are the WHERE conditions, args their arguments. In addition, from and to bound the
	// blocks, inclusive.
	conditions []string
	args       []any
	from, to   uint64
	// upTo is the last block that may be listed now.
	upTo uint64
	// unfinished says that more rows may come after the last one.
	unfinished bool
}

// addCondition adds a condition. It must be a constant text, never input.
func (q *listing) addCondition(condition string, args ...any) {
	q.conditions, q.args = append(q.conditions, condition), append(q.args, args...)
}

// last is the last block that the list has now.
func (q *listing) last() int64 { return column(min(q.to, q.upTo)) }

// start is the position before the first row after a given one. It includes the bound of the first
// block, so that the statement has a single lower bound and the database reads only that part of
// the index.
func (q *listing) start(after position) position {
	if after.block < q.from {
		return position{block: q.from}
	}
	return after
}

// statement returns the query for rows after a position.
func (q *listing) statement(after position, limit int) (query string, args []any) {
	conditions := append(slices.Clone(q.conditions), "(block, seq) > (?, ?)", "block <= ?")
	args = append(slices.Clone(q.args), column(after.block), column(after.seq), q.last(), limit)
	return `SELECT seq, hash, bundle, block, block_hash, recipient, amount_0, amount_1, amount_2, amount_3, delayed, payout_tx, payout_block
		FROM refunds WHERE ` + strings.Join(conditions, " AND ") + ` ORDER BY block, seq LIMIT ?`, args
}

// page lists at most limit rows, and at least one if there is any.
func (l *Ledger) page(ctx context.Context, q listing, cursor string, limit int) (rpc.RefundPage, error) {
	last, err := positionOf(cursor, q.name)
	if err != nil {
		return rpc.RefundPage{}, err
	}
	last, limit = q.start(last), max(limit, 1)
	page := rpc.RefundPage{Refunds: []rpc.RefundRecord{}, UpTo: q.upTo}
	more := q.unfinished
	query, args := q.statement(last, limit+1) // one more row shows whether there are more
	err = l.projection.Each(ctx, func(rows *sql.Rows) error {
		if len(page.Refunds) == limit {
			more = true
			return nil
		}
		record, seq, err := scanRefund(rows)
		page.Refunds, last = append(page.Refunds, record), position{record.Block, seq}
		return err
	}, query, args...)
	if err != nil {
		return rpc.RefundPage{}, failure("list refunds", err)
	}
	if more {
		page.Cursor = last.cursor(q.name)
	}
	return page, nil
}

func scanRefund(rows *sql.Rows) (r rpc.RefundRecord, seq uint64, err error) {
	var number, block int64
	var hash, bundle, blockHash, recipient, payoutTx []byte
	var payoutBlock sql.NullInt64
	var parts [4]int64
	if err := rows.Scan(&number, &hash, &bundle, &block, &blockHash, &recipient, &parts[0], &parts[1], &parts[2],
		&parts[3], &r.Delayed,
		&payoutTx, &payoutBlock); err != nil {
		return r, 0, err
	}
	r.Hash, r.Block, r.BlockHash = common.Hash(hash), uint64(block), common.Hash(blockHash)
	if by := common.Hash(bundle); by != r.Hash {
		r.Bundle = by
	}
	r.Recipient, r.AmountWei = common.Address(recipient), amountOf(parts)
	if payoutTx != nil {
		r.Received, r.PayoutTx, r.PayoutBlock = true, common.Hash(payoutTx), uint64(payoutBlock.Int64)
	}
	return r, uint64(number), nil
}
