package ledger

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/ethereum/go-ethereum/common"
)

// Recipient is where refunds of an address go from now on: to itself, unless its owner has set
// another address.
func (l *Ledger) Recipient(ctx context.Context, from common.Address) (common.Address, error) {
	return l.RecipientAt(ctx, from, math.MaxInt64)
}

// RecipientAt is where a refund of an address goes that is credited at a sequence number of the
// journal: what was set before it counts, what was set later does not.
func (l *Ledger) RecipientAt(ctx context.Context, from common.Address, seq uint64) (common.Address, error) {
	var to []byte
	err := l.projection.QueryRow(ctx,
		`SELECT to_address FROM recipients WHERE from_address = ? AND seq < ? ORDER BY seq DESC LIMIT 1`,
		from[:], column(seq)).Scan(&to)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return from, nil
	case err != nil:
		return common.Address{}, failure("ask where refunds go", err)
	default:
		return common.Address(to), nil
	}
}
