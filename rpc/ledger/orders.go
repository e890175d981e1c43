package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/view"
	"github.com/gavel-relay/gavel/rpc"
)

// An order that its signer sends again is the same row: times are of the first one, the state is the newest one's, and late facts of an older one
// change nothing.
const ofOrder = ` WHERE hash = ? AND signer = ? AND id = ?`

// named are the arguments of ofOrder.
func named(ref rpc.OrderRef) []any { return []any{ref.Hash[:], ref.Signer[:], int64(ref.ID)} }

// newOrder is what the ledger reads of an rpc.OrderAccepted. The rest is long: transactions, which nobody asks the ledger for.
type newOrder struct {
	Order *struct {
		ID         uint64         `json:"id"`
		Kind       rpc.Kind       `json:"kind"`
		Signer     common.Address `json:"signer"`
		ReceivedAt time.Time      `json:"received_at"`
		Bundle     struct {
			Hash common.Hash `json:"hash"`
		} `json:"bundle"`
	} `json:"order"`
}

// Subject implements rpc.Fact.
func (newOrder) Subject() string { return rpc.OrderAccepted{}.Subject() }

// orderAccepted adds an order, or begins it again.
func orderAccepted(_ int64, fact newOrder) (view.Change, error) {
	if fact.Order == nil {
		return nil, errors.New("no order")
	}
	o := fact.Order
	return exec(`INSERT INTO orders (hash, signer, id, kind, state, received_us) VALUES (?,?,?,?,?,?)
		ON CONFLICT (hash, signer) DO UPDATE SET id = excluded.id, kind = excluded.kind, state = excluded.state, reason = '', ended_us = NULL,
		block = 0, block_hash = NULL, value = NULL WHERE excluded.id > orders.id`,
		o.Bundle.Hash[:], o.Signer[:], int64(o.ID), string(o.Kind), string(rpc.Submitted), o.ReceivedAt.UnixMicro()), nil
}

// orderSimulated notes the first success, and the newest failure.
func orderSimulated(_ int64, fact rpc.OrderSimulated) (view.Change, error) {
	if !fact.Success {
		return exec(`UPDATE orders SET simulation_error = ?, state = CASE WHEN state = 'simulated' THEN 'submitted' ELSE state END`+ofOrder,
			append([]any{fact.Error}, named(fact.OrderRef)...)...), nil
	}
	return exec(`UPDATE orders SET simulation_error = '', simulated_us = COALESCE(simulated_us, ?),
		state = CASE WHEN state = 'submitted' THEN 'simulated' ELSE state END`+ofOrder,
		append([]any{fact.At.UnixMicro()}, named(fact.OrderRef)...)...), nil
}

// orderSent notes the first time that a builder took an order. An attempt that failed changes nothing.
func orderSent(seq int64, fact rpc.OrderSent) (view.Change, error) {
	if fact.Error != "" {
		return nil, nil
	}
	return inTurn(
		exec(`INSERT INTO sendings (hash, signer, builder, seq, at_us) VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING`,
			fact.Hash[:], fact.Signer[:], fact.Builder, seq, fact.At.UnixMicro()),
		exec(`UPDATE orders SET state = CASE WHEN state IN ('submitted', 'simulated') THEN 'sent' ELSE state END`+ofOrder, named(fact.OrderRef)...),
	), nil
}

// orderEnded notes how an order has ended.
func orderEnded(_ int64, fact rpc.OrderEnded) (view.Change, error) {
	var value []byte
	if fact.ValueWei != nil {
		bytes := fact.ValueWei.Bytes32()
		value = bytes[:]
	}
	return exec(`UPDATE orders SET state = ?, reason = ?, ended_us = ?, block = ?, block_hash = ?, value = ?`+ofOrder,
		append([]any{string(fact.State), fact.Reason, fact.At.UnixMicro(), int64(fact.Block), fact.BlockHash[:], value},
			named(fact.OrderRef)...)...), nil
}

// orderReturned lets an order that had landed live again, with what had happened to it before.
func orderReturned(_ int64, fact rpc.OrderReturned) (view.Change, error) {
	return exec(`UPDATE orders SET state = CASE
		WHEN EXISTS (SELECT 1 FROM sendings AS s WHERE s.hash = orders.hash AND s.signer = orders.signer) THEN 'sent'
		WHEN simulated_us IS NOT NULL THEN 'simulated' ELSE 'submitted' END,
		reason = '', ended_us = NULL, block = 0, block_hash = NULL, value = NULL`+ofOrder, named(fact.OrderRef)...), nil
}

// Order is what is remembered of a signer's order, nil if there was none.
func (l *Ledger) Order(ctx context.Context, hash common.Hash, signer common.Address) (*rpc.OrderRecord, error) {
	record := &rpc.OrderRecord{OrderRef: rpc.OrderRef{Hash: hash, Signer: signer}}
	var id, received, block int64
	var simulated, ended sql.NullInt64
	var blockHash, value []byte
	err := l.view.QueryRow(ctx, `SELECT id, kind, state, reason, received_us, simulated_us, simulation_error, ended_us, block, block_hash, value
		FROM orders WHERE hash = ? AND signer = ?`, hash[:], signer[:]).Scan(
		&id, &record.Kind, &record.State, &record.Reason, &received, &simulated, &record.SimulationError, &ended, &block, &blockHash, &value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, failure("look up an order", err)
	}
	record.ID, record.Block = uint64(id), uint64(block)
	record.ReceivedAt, record.SimulatedAt, record.EndedAt = time.UnixMicro(received).UTC(), timeOf(simulated), timeOf(ended)
	copy(record.BlockHash[:], blockHash)
	if value != nil {
		record.ValueWei = new(uint256.Int).SetBytes(value)
	}
	record.Sent, err = l.sendings(ctx, hash, signer)
	return record, err
}

// sendings are the builders that took an order.
func (l *Ledger) sendings(ctx context.Context, hash common.Hash, signer common.Address) (list []rpc.OrderSending, err error) {
	err = l.view.Each(ctx, func(rows *sql.Rows) error {
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

// timeOf is zero for none.
func timeOf(micro sql.NullInt64) time.Time {
	if !micro.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micro.Int64).UTC()
}
