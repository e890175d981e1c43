package archive

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// Delivered lists payloads that were published. The result is never nil.
func (a *Archive) Delivered(ctx context.Context, q relay.TraceQuery) ([]relay.DeliveredTrace, error) {
	list := []relay.DeliveredTrace{}
	err := a.traces(ctx, "delivered", q, func(row tracesRow) {
		list = append(list, relay.DeliveredTrace{Trace: row.Trace, PaidWei: row.paidWei})
	})
	if err != nil {
		return nil, failure("list delivered payloads", err)
	}
	return list, nil
}

// Received lists submissions that counted. The result is never nil.
func (a *Archive) Received(ctx context.Context, q relay.TraceQuery) ([]relay.ReceivedTrace, error) {
	list := []relay.ReceivedTrace{}
	err := a.traces(ctx, "received", q, func(row tracesRow) { list = append(list, row.ReceivedTrace) })
	if err != nil {
		return nil, failure("list received blocks", err)
	}
	return list, nil
}

// ReceivedMark changes whenever the received submissions of a slot do.
func (a *Archive) ReceivedMark(ctx context.Context, slot phase0.Slot) (mark relay.Mark, err error) {
	err = a.projection.Each(ctx, func(rows *sql.Rows) error {
		return rows.Scan(&mark.Rows, &mark.Newest)
	}, `SELECT count(*), coalesce(max(seq), 0) FROM received WHERE slot = ?`, int64(slot))
	if err != nil {
		return relay.Mark{}, failure("count received blocks", err)
	}
	return mark, nil
}

// Registration returns a validator's newest registration; nil if it has none.
func (a *Archive) Registration(ctx context.Context, pubkey phase0.BLSPubKey) (*relay.SignedRegistration, error) {
	for found, err := range a.registrations(ctx, ` WHERE pubkey = ?`, pubkey[:]) {
		return found, err // there is at most one
	}
	return nil, nil
}

// Registrations iterates over the newest registrations of all validators, in no order, for a relay
// that starts again. They are read during the loop, so that they are never in memory all at once.
// If the database is in memory, the caller must not query it during the loop. An error comes last,
// with nil.
func (a *Archive) Registrations(ctx context.Context) iter.Seq2[*relay.SignedRegistration, error] {
	return a.registrations(ctx, ``)
}

// errLeft ends a query when the caller has left the loop.
var errLeft = errors.New("the caller has left the loop")

func (a *Archive) registrations(ctx context.Context, where string,
	args ...any) iter.Seq2[*relay.SignedRegistration, error] {
	return func(yield func(*relay.SignedRegistration, error) bool) {
		err := a.projection.Each(ctx, func(rows *sql.Rows) error {
			found, err := scanRegistration(rows)
			if err == nil && !yield(found, nil) {
				return errLeft
			}
			return err
		}, `SELECT pubkey, fee_recipient, gas_limit, timestamp, signature FROM registrations`+where, args...)
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, failure("read registrations", err))
		}
	}
}

func scanRegistration(rows *sql.Rows) (*relay.SignedRegistration, error) {
	var pubkey, feeRecipient, signature sql.RawBytes // copied below, into arrays
	var gasLimit, timestamp int64
	if err := rows.Scan(&pubkey, &feeRecipient, &gasLimit, &timestamp, &signature); err != nil {
		return nil, err
	}
	r := &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
		GasLimit: uint64(gasLimit), Timestamp: time.Unix(timestamp, 0).UTC(),
	}}
	copy(r.Message.Pubkey[:], pubkey)
	copy(r.Message.FeeRecipient[:], feeRecipient)
	copy(r.Signature[:], signature)
	return r, nil
}

// tracesRow is a row of either list.
type tracesRow struct {
	relay.ReceivedTrace
	paidWei *uint256.Int // of delivered payloads; nil if it is not known
}

func (a *Archive) traces(ctx context.Context, table string, q relay.TraceQuery, each func(tracesRow)) error {
	query, args := tracesQuery(table, q)
	return a.projection.Each(ctx, func(rows *sql.Rows) error {
		row, err := scanTrace(rows)
		if err == nil {
			each(row)
		}
		return err
	}, query, args...)
}

// tracesQuery returns a query's statement and its arguments. table is a constant of this package,
// never input.
func tracesQuery(table string, q relay.TraceQuery) (query string, args []any) {
	where, args := conditions(q)
	order := map[relay.Order]string{
		relay.Newest: "slot DESC, seq DESC", relay.ValueAscending: "value ASC, slot DESC, seq DESC",
		relay.ValueDescending: "value DESC, slot DESC, seq DESC",
	}[q.Order]
	paid := map[string]string{"delivered": "paid", "received": "NULL"}[table]
	// For SQLite a negative limit means none, for PostgreSQL it is an error; max avoids both.
	return `SELECT slot, parent_hash, block_hash, builder, proposer, fee_recipient, gas_limit, gas_used, value,
		num_tx, num_blobs, block_number, at_us, optimistic, ` + paid + ` FROM ` + table + where + ` ORDER BY ` + order +
		` LIMIT ?`, append(args, max(q.Limit, 0))
}

// conditions returns the WHERE clause of a query and its arguments.
func conditions(q relay.TraceQuery) (where string, args []any) {
	var parts []string
	add := func(condition string, value any) {
		parts, args = append(parts, condition), append(args, value)
	}
	if q.Slot != nil {
		add("slot = ?", int64(*q.Slot))
	}
	switch {
	case q.Cursor != nil && q.Order == relay.Newest:
		add("slot <= ?", int64(*q.Cursor))
	case q.Cursor != nil:
		// The plus keeps the database from using the index of slots. It reads the index of values in
		// order until the limit instead, and sorts nothing. This is slow only if the cursor excludes
		// nearly all rows.
		add("+slot <= ?", int64(*q.Cursor))
	}
	if q.BlockHash != nil {
		add("block_hash = ?", q.BlockHash[:])
	}
	if q.BlockNumber != nil {
		add("block_number = ?", int64(*q.BlockNumber))
	}
	if q.Proposer != nil {
		add("proposer = ?", q.Proposer[:])
	}
	if q.Builder != nil {
		add("builder = ?", q.Builder[:])
	}
	if q.After > 0 {
		add("seq > ?", int64(q.After)) // the journal's places are below 2^63
	}
	if q.UpTo > 0 {
		add("seq <= ?", int64(q.UpTo))
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

func scanTrace(rows *sql.Rows) (row tracesRow, err error) {
	var slot, gasLimit, gasUsed, number, atMicro int64
	var parent, hash, builder, proposer, feeRecipient, value, paid sql.RawBytes // copied below
	if err := rows.Scan(&slot, &parent, &hash, &builder, &proposer, &feeRecipient, &gasLimit, &gasUsed, &value, &row.NumTx,
		&row.NumBlobs,
		&number, &atMicro, &row.Optimistic, &paid); err != nil {
		return row, err
	}
	row.Slot, row.GasLimit, row.GasUsed, row.BlockNumber = phase0.Slot(slot), uint64(gasLimit), uint64(gasUsed),
		uint64(number)
	copy(row.ParentHash[:], parent)
	copy(row.BlockHash[:], hash)
	copy(row.Builder[:], builder)
	copy(row.Proposer[:], proposer)
	copy(row.FeeRecipient[:], feeRecipient)
	row.ValueWei, row.ReceivedAt = new(uint256.Int).SetBytes(value), time.UnixMicro(atMicro).UTC()
	if paid != nil {
		row.paidWei = new(uint256.Int).SetBytes(paid)
	}
	return row, nil
}
