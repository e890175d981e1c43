package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// subjects of the facts that have a view.
var (
	deliveredSubject  = "relay." + relay.PayloadDelivered{}.Subject()
	judgedSubject     = "relay." + relay.SubmissionJudged{}.Subject()
	registeredSubject = "relay." + relay.RegistrationStored{}.Subject()
)

func apply(ctx context.Context, tx *sql.Tx, entry Entry) error {
	switch entry.Subject {
	case deliveredSubject:
		var fact relay.PayloadDelivered
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return err
		}
		// A proposer may ask again after a restart of the relay, and the block is published again: that is still one delivery.
		return insertTrace(ctx, tx, "delivered", entry.Seq, fact.Trace, fact.At, false)
	case judgedSubject:
		var fact relay.SubmissionJudged
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return err
		}
		// Only what counts is listed: refused bids never, bids below the floor are kept but unverified.
		if fact.Refusal != "" || (!fact.Verified && !fact.Optimistic) {
			return nil
		}
		return insertTrace(ctx, tx, "received", entry.Seq, fact.Trace, fact.ReceivedAt, fact.Optimistic)
	case registeredSubject:
		var fact relay.RegistrationStored
		if err := json.Unmarshal(entry.Data, &fact); err != nil {
			return err
		}
		return insertRegistration(ctx, tx, fact.Registration)
	default:
		return nil
	}
}

// insertTrace adds a row to a view of traces; table is one of ours, never input.
func insertTrace(ctx context.Context, tx *sql.Tx, table string, seq uint64, t relay.Trace, at time.Time, optimistic bool) error {
	if t.ValueWei == nil {
		return errors.New("a trace without a value")
	}
	value := t.ValueWei.Bytes32()
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (seq, slot, parent_hash, block_hash, builder, proposer, fee_recipient,
		gas_limit, gas_used, value, num_tx, num_blobs, block_number, at_us, optimistic) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT DO NOTHING`, table),
		int64(seq), int64(t.Slot), t.ParentHash[:], t.BlockHash[:], t.Builder[:], t.Proposer[:], t.FeeRecipient[:],
		int64(t.GasLimit), int64(t.GasUsed), value[:], t.NumTx, t.NumBlobs, int64(t.BlockNumber), at.UnixMicro(), optimistic)
	return err
}

func insertRegistration(ctx context.Context, tx *sql.Tx, r *relay.SignedRegistration) error {
	if r == nil || r.Message == nil {
		return errors.New("a registration without a message")
	}
	m := r.Message
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO registrations (pubkey, fee_recipient, gas_limit, timestamp, signature)
		VALUES (?,?,?,?,?)`, m.Pubkey[:], m.FeeRecipient[:], int64(m.GasLimit), m.Timestamp.Unix(), r.Signature[:])
	return err
}
