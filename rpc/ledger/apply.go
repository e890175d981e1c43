package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/rpc"
)

// prefix is what the journal puts before the subjects of this service.
const prefix = "rpc."

// readers read the facts that change the projection, by their subjects in the journal.
var readers = map[string]func(projection.Entry) (projection.Change, error){
	prefix + rpc.RefundCredited{}.Subject(): reader(refundCredited),
	prefix + rpc.RefundPaid{}.Subject():     reader(refundPaid),
	prefix + rpc.RecipientSet{}.Subject():   reader(recipientSet),
	prefix + rpc.BlockIndexed{}.Subject():   reader(blockIndexed),
	prefix + rpc.BlockReverted{}.Subject():  reader(blockReverted),
	prefix + rpc.OrderSent{}.Subject():      reader(orderSent),
	prefix + rpc.OrderEnded{}.Subject():     reader(orderEnded),
	prefix + rpc.OrderReturned{}.Subject():  reader(orderReturned),
}

// decode reads the facts of an entry and returns their change; nil if the projection does not use
// this kind.
func decode(entry projection.Entry) (projection.Change, error) {
	read := readers[entry.Subject]
	if read == nil {
		return nil, nil
	}
	return read(entry)
}

// reader reads one kind of fact. A malformed fact is found here and by change, not when the change
// is applied. The other facts of its list count all the same.
func reader[F rpc.Fact](change func(seq int64, fact F) (projection.Change, error)) func(projection.Entry) (
	projection.Change, error) {
	return func(entry projection.Entry) (projection.Change, error) {
		var changes []projection.Change
		var wrong []error
		err := rpc.EachFact(entry.Data, func(data []byte) error {
			var fact F
			err := json.Unmarshal(data, &fact)
			if err != nil {
				wrong = append(wrong, err)
				return nil
			}
			one, err := change(int64(entry.Seq), fact)
			switch {
			case err != nil:
				wrong = append(wrong, err)
			case one != nil:
				changes = append(changes, one)
			}
			return nil
		})
		return inOrder(changes...), errors.Join(append(wrong, err)...)
	}
}

// exec is a change that consists of one statement.
func exec(statement string, args ...any) projection.Change {
	return func(ctx context.Context, tx projection.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	}
}

// inOrder applies several changes in order; nil for none.
func inOrder(changes ...projection.Change) projection.Change {
	if len(changes) == 0 {
		return nil
	}
	return func(ctx context.Context, tx projection.Tx) error {
		for _, change := range changes {
			if err := change(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// refundCredited adds a refund, once.
func refundCredited(seq int64, fact rpc.RefundCredited) (projection.Change, error) {
	parts, err := partsOf(fact.AmountWei)
	if err != nil {
		return nil, err
	}
	bundle := bundleOrOrder(fact.Bundle, fact.Hash)
	return exec(
		`INSERT INTO refunds (seq, hash, bundle, block, block_hash, recipient, amount_0, amount_1, amount_2, amount_3, delayed, sender)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		seq, fact.Hash[:], bundle[:], int64(fact.Block), fact.BlockHash[:], fact.Recipient[:],
		parts[0], parts[1], parts[2], parts[3], bit(fact.Delayed), senderOf(fact.Refund)), nil
}

// senderOf returns null for a fact without a sender.
func senderOf(refund rpc.Refund) []byte {
	if refund.Sender == (common.Address{}) {
		return nil
	}
	return refund.Sender[:]
}

// refundPaid sets a refund's payout. If several facts name one, the first counts.
func refundPaid(_ int64, fact rpc.RefundPaid) (projection.Change, error) {
	bundle := bundleOrOrder(fact.Bundle, fact.Hash)
	return exec(`UPDATE refunds SET payout_tx = ?, payout_block = ?
		WHERE hash = ? AND block_hash = ? AND recipient = ? AND bundle = ? AND payout_tx IS NULL`,
		fact.PayoutTx[:], int64(fact.PayoutBlock), fact.Hash[:], fact.BlockHash[:], fact.Recipient[:], bundle[:]), nil
}

// bundleOrOrder is the order that brought a refund: the bundle, or the order itself.
func bundleOrOrder(bundle, hash common.Hash) common.Hash {
	if bundle == (common.Hash{}) {
		return hash
	}
	return bundle
}

// recipientSet adds to the history of an address.
func recipientSet(seq int64, fact rpc.RecipientSet) (projection.Change, error) {
	return exec(`INSERT INTO recipients (seq, from_address, to_address, at_us) VALUES (?,?,?,?) ON CONFLICT DO NOTHING`,
		seq, fact.From[:], fact.To[:], fact.At.UnixMicro()), nil
}

// blockIndexed makes the refunds of a block visible.
func blockIndexed(_ int64, fact rpc.BlockIndexed) (projection.Change, error) {
	return exec(`INSERT INTO blocks (number, hash, timestamp) VALUES (?,?,?)
		ON CONFLICT (number) DO UPDATE SET hash = excluded.hash, timestamp = excluded.timestamp`,
		int64(fact.Number), fact.Hash[:], int64(fact.Timestamp)), nil
}

// blockReverted removes a block, with its refunds and the payouts that were seen in it. The blocks
// above it are removed too. Their refunds stay until their own facts come, but are not visible
// until then. For a block that was removed before, this changes nothing.
func blockReverted(_ int64, fact rpc.BlockReverted) (projection.Change, error) {
	number, hash := int64(fact.Number), fact.Hash[:]
	return inOrder(
		exec(`DELETE FROM refunds WHERE block = ? AND block_hash = ?`, number, hash),
		exec(`UPDATE refunds SET payout_tx = NULL, payout_block = NULL WHERE payout_block = ?
			AND NOT EXISTS (SELECT 1 FROM blocks WHERE number = ? AND hash <> ?)`, number, number, hash),
		exec(`DELETE FROM blocks WHERE number >= ? AND EXISTS (SELECT 1 FROM blocks AS b WHERE b.number = ? AND b.hash = ?)`,
			number, number, hash),
	), nil
}

// partsOf cuts an amount into four parts of 32 bits, the lowest first, so that SQL can sum them up.
// All ether in existence has fewer than 128 bits, in wei.
func partsOf(amount *uint256.Int) (parts [4]int64, err error) {
	switch {
	case amount == nil:
		return parts, errors.New("a refund without an amount")
	case amount.BitLen() > 128:
		return parts, fmt.Errorf("a refund of %s wei", amount.Dec())
	}
	for i := range parts {
		parts[i] = int64(uint32(amount[i/2] >> (32 * (i % 2))))
	}
	return parts, nil
}

// amountOf combines parts, or sums of parts, which may have more than 32 bits.
func amountOf(parts [4]int64) *uint256.Int {
	amount := new(uint256.Int)
	for i := 3; i >= 0; i-- {
		amount.Lsh(amount, 32)
		amount.AddUint64(amount, uint64(parts[i]))
	}
	return amount
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}
