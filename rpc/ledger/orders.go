package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/rpc"
)

// orderSent records when a builder first accepted an order. A failed attempt changes nothing.
func orderSent(seq int64, fact rpc.OrderSent) (projection.Change, error) {
	if fact.Error != "" {
		return nil, nil
	}
	return exec(`INSERT INTO sendings (hash, signer, builder, seq, at_us) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING`,
		fact.Hash[:], fact.Signer[:], fact.Builder, seq, fact.At.UnixMicro()), nil
}

// orderEnded adds an order only at its end: before that, the pool has it, and there are many
// orders. An order that its signer sent again has the same row. ReceivedAt and SimulatedAt are the
// first order's, the rest the newest one's. An older order's end that comes late changes nothing.
func orderEnded(_ int64, fact rpc.OrderEnded) (projection.Change, error) {
	if fact.Summary.Kind == "" {
		return nil, errors.New("an end without a life")
	}
	var value []byte
	if fact.ValueWei != nil {
		bytes := fact.ValueWei.Bytes32()
		value = bytes[:]
	}
	return exec(
		`INSERT INTO orders (hash, signer, id, kind, state, reason, received_us, simulated_us, simulation_error, ended_us, block, block_hash, value)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (hash, signer) DO UPDATE SET id = excluded.id, kind = excluded.kind, state = excluded.state,
		reason = excluded.reason, simulated_us = COALESCE(orders.simulated_us, excluded.simulated_us), simulation_error = excluded.simulation_error,
		ended_us = excluded.ended_us, block = excluded.block, block_hash = excluded.block_hash, value = excluded.value WHERE excluded.id >= orders.id`,
		fact.Hash[:], fact.Signer[:], int64(fact.ID), string(fact.Summary.Kind), string(fact.State), fact.Reason,
		fact.Summary.ReceivedAt.UnixMicro(), microOf(fact.Summary.SimulatedAt), fact.Summary.SimulationError,
		fact.At.UnixMicro(), int64(fact.Block), fact.BlockHash[:], value), nil
}

// orderReturned makes a landed order live again, with its history from before. The pool has the
// order. If it never records another end, the ledger at least no longer says that the order landed.
func orderReturned(_ int64, fact rpc.OrderReturned) (projection.Change, error) {
	return exec(`UPDATE orders SET state = CASE
		WHEN EXISTS (SELECT 1 FROM sendings AS s WHERE s.hash = orders.hash AND s.signer = orders.signer) THEN 'sent'
		WHEN simulated_us IS NOT NULL THEN 'simulated' ELSE 'submitted' END,
		reason = '', ended_us = NULL, block = 0, block_hash = NULL, value = NULL WHERE hash = ? AND signer = ? AND id = ?`,
		fact.Hash[:], fact.Signer[:], int64(fact.ID)), nil
}

// Order is what is remembered of a signer's order, nil if there is no such order.
func (l *Ledger) Order(ctx context.Context, hash common.Hash, signer common.Address) (*rpc.OrderRecord, error) {
	record := &rpc.OrderRecord{OrderRef: rpc.OrderRef{Hash: hash, Signer: signer}}
	var id, received, block int64
	var simulated, ended sql.NullInt64
	var blockHash, value []byte
	err := l.projection.QueryRow(ctx,
		`SELECT id, kind, state, reason, received_us, simulated_us, simulation_error, ended_us, block, block_hash, value
		FROM orders WHERE hash = ? AND signer = ?`, hash[:], signer[:]).Scan(
		&id, &record.Kind, &record.State, &record.Reason, &received, &simulated, &record.SimulationError, &ended, &block,
		&blockHash, &value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, failure("look up an order", err)
	}
	record.ID, record.Block = uint64(id), uint64(block)
	record.ReceivedAt, record.SimulatedAt, record.EndedAt = time.UnixMicro(received).UTC(), timeOf(simulated),
		timeOf(ended)
	copy(record.BlockHash[:], blockHash)
	if value != nil {
		record.ValueWei = new(uint256.Int).SetBytes(value)
	}
	record.Sent, err = l.sendings(ctx, hash, signer)
	return record, err
}

// sendings are the builders that accepted an order.
func (l *Ledger) sendings(ctx context.Context, hash common.Hash,
	signer common.Address) (list []rpc.OrderSending, err error) {
	err = l.projection.Each(ctx, func(rows *sql.Rows) error {
		var one rpc.OrderSending
		var at int64
		err := rows.Scan(&one.Builder, &at)
		one.At = time.UnixMicro(at).UTC()
		list = append(list, one)
		return err
	}, `SELECT builder, at_us FROM sendings WHERE hash = ? AND signer = ? ORDER BY seq, at_us`, hash[:], signer[:])
	if err != nil {
		return nil, failure("look up an order's builders", err)
	}
	return list, nil
}

// microOf is null for the zero time.
func microOf(at time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: at.UnixMicro(), Valid: !at.IsZero()}
}

// timeOf is the zero time for null.
func timeOf(micro sql.NullInt64) time.Time {
	if !micro.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micro.Int64).UTC()
}
