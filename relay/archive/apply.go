package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
)

// Subjects of the facts that have a projection.
var (
	deliveredSubject  = "relay." + relay.PayloadDelivered{}.Subject()
	executedSubject   = "relay." + relay.SubmissionExecuted{}.Subject()
	judgedSubject     = "relay." + relay.SubmissionJudged{}.Subject()
	stakedBidSubject  = "relay." + relay.StakedBidTaken{}.Subject()
	registeredSubject = "relay." + relay.RegistrationStored{}.Subject()
)

// decode reads a fact and returns its change; nil for a fact that changes no projection. An error
// means that the fact itself is wrong.
func decode(entry projection.Entry) (projection.Change, error) {
	switch entry.Subject {
	case deliveredSubject:
		var fact relay.PayloadDelivered
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return nil, err
		}
		// A proposer may ask again after a restart of the relay, so that the block is published again.
		// This is still one delivery.
		add, err := addTrace("delivered", entry.Seq, fact.Trace, fact.At, false)
		if err != nil || fact.PaidWei == nil {
			return add, err
		}
		pay := setPaid(fact.Slot, fact.BlockHash, fact.PaidWei)
		return func(ctx context.Context, tx projection.Tx) error {
			if err := add(ctx, tx); err != nil {
				return err
			}
			return pay(ctx, tx)
		}, nil
	case executedSubject:
		var fact relay.SubmissionExecuted
		if err := json.Unmarshal(entry.Data, &fact); err != nil || fact.PaidWei == nil {
			return nil, err
		}
		return setPaid(fact.Slot, fact.BlockHash, fact.PaidWei), nil
	case judgedSubject:
		var fact relay.SubmissionJudged
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return nil, err
		}
		// Only bids that count are listed. Bids below the floor are not refused, but not verified either.
		if fact.Refusal != "" || (!fact.Verified && !fact.Optimistic) {
			return nil, nil
		}
		return addTrace("received", entry.Seq, fact.Trace, fact.ReceivedAt, fact.Optimistic)
	case stakedBidSubject:
		var fact relay.StakedBidTaken
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return nil, err
		}
		return addTrace("received", entry.Seq, fact.Trace, fact.ReceivedAt, false)
	case registeredSubject:
		var fact relay.RegistrationStored
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return nil, err
		}
		return setRegistration(fact.Registration)
	default:
		return nil, nil
	}
}

// addTrace adds a row to a projection of traces; table is a constant of this package, never input.
func addTrace(table string, seq uint64, t relay.Trace, at time.Time, optimistic bool) (projection.Change, error) {
	if t.ValueWei == nil {
		return nil, errors.New("a trace without a value")
	}
	value, optimisticBit := t.ValueWei.Bytes32(), 0
	if optimistic {
		optimisticBit = 1
	}
	return func(ctx context.Context, tx projection.Tx) error {
		_, err := tx.Exec(ctx,
			fmt.Sprintf(`INSERT INTO %s (seq, slot, parent_hash, block_hash, builder, proposer, fee_recipient,
			gas_limit, gas_used, value, num_tx, num_blobs, block_number, at_us, optimistic) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
			ON CONFLICT DO NOTHING`, table),
			int64(seq), int64(t.Slot), t.ParentHash[:], t.BlockHash[:], t.Builder[:], t.Proposer[:], t.FeeRecipient[:],
			int64(t.GasLimit), int64(t.GasUsed), value[:], t.NumTx, t.NumBlobs, int64(t.BlockNumber), at.UnixMicro(),
			optimisticBit)
		return err
	}, nil
}

// setPaid notes what a block pays, if it was delivered. Executions find lower bounds, so the
// highest one counts.
func setPaid(slot phase0.Slot, block phase0.Hash32, paidWei *uint256.Int) projection.Change {
	paid := paidWei.Bytes32()
	return func(ctx context.Context, tx projection.Tx) error {
		_, err := tx.Exec(ctx,
			`UPDATE delivered SET paid = ? WHERE block_hash = ? AND slot = ? AND (paid IS NULL OR paid < ?)`,
			paid[:], block[:], int64(slot), paid[:])
		return err
	}
}

// setRegistration replaces a validator's registration, unless the stored one is newer: two that
// come at the same time may be recorded in the other order.
func setRegistration(r *relay.SignedRegistration) (projection.Change, error) {
	if r == nil || r.Message == nil {
		return nil, errors.New("a registration without a message")
	}
	m := r.Message
	return func(ctx context.Context, tx projection.Tx) error {
		_, err := tx.Exec(ctx,
			`INSERT INTO registrations (pubkey, fee_recipient, gas_limit, timestamp, signature) VALUES (?,?,?,?,?)
			ON CONFLICT (pubkey) DO UPDATE SET fee_recipient = excluded.fee_recipient, gas_limit = excluded.gas_limit,
			timestamp = excluded.timestamp, signature = excluded.signature
			WHERE excluded.timestamp >= registrations.timestamp`,
			m.Pubkey[:], m.FeeRecipient[:], int64(m.GasLimit), m.Timestamp.Unix(), r.Signature[:])
		return err
	}, nil
}
