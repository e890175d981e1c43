// Package ledger is what the bundle RPC remembers after its pool has forgotten: refunds, their
// recipients and orders in SQL, and the reputation of signers in memory. Both are projections of
// the facts: the same facts give the same answers. internal/projection applies the journal's facts
// to the database.
//
//	journal ─▶ projection.Follow ─▶ decode ─┬─ refund_credited, refund_paid ──▶ refunds ─┬─▶ ByRecipient, ByBundle, ByBlock, Delayed (pages)
//	                                  ├─ block_indexed, block_reverted ▶ blocks ───┴─▶ Totals, DelayedTotals, IndexedUpTo
//	                                  ├─ recipient_set ────────────────▶ recipients ─▶ Recipient, RecipientAt
//	                                  └─ order_ended, order_sent, … ───▶ orders ─────▶ Order
//
// A refund is pending as soon as its block is indexed, and received when its payout was seen. A
// reverted block takes back its refunds and the payouts that were seen in it. Blocks that are not
// indexed are not reported: answers are about the blocks up to their UpTo.
//
//	facts ─▶ Reputation.Apply ─▶ signer: all time │ hour │ hour │ … │ hour      those of 7 days with any activity
//	                                              └───────────┬───────────┘
//	                                   Stats, High ◀── sums of 7 days, of a day
//
// The database belongs to the ledger alone, and stores how far the ledger has read the journal.
package ledger

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/rpc"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Config says what the ledger reports, and when. With the zero value it reports everything at once.
type Config struct {
	// EarliestBlock is the first block whose refunds ByRecipient lists; totals include earlier
	// ones. It is 20802497 on mainnet.
	EarliestBlock uint64
	// DetailsDelay is how old a block must be, by its timestamp, before ByRecipient, ByBundle and
	// ByBlock list its refunds.
	DetailsDelay time.Duration
	// TotalsEvery is how often Totals changes: it answers as of the last multiple of this duration
	// since 1970. 0 is always current.
	TotalsEvery time.Duration
	Log         *slog.Logger
}

// Ledger answers queries until Close. It is safe for concurrent use.
type Ledger struct {
	projection *projection.Projection
	cfg        Config
}

// Open opens a database, see projection.OpenDatabase for its address. SQLite must answer at once.
// PostgreSQL is first contacted by Follow; until it answers, queries fail with rpc.NotReady.
func Open(ctx context.Context, address string, cfg Config) (*Ledger, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	opened, err := projection.Open(ctx, address, projection.Config{Name: "ledger", Migrations: migrations, Decode: decode,
		Log: cfg.Log})
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	return &Ledger{projection: opened, cfg: cfg}, nil
}

// Close closes the database.
func (l *Ledger) Close() error { return l.projection.Close() }

// CheckAtStart refuses a journal that the database was not made from, see projection.Projection.
func (l *Ledger) CheckAtStart(ctx context.Context, journal projection.Log) error {
	return l.projection.CheckAtStart(ctx, journal)
}

// Skipped counts the facts that could not be read since Open, see projection.Projection.
func (l *Ledger) Skipped() uint64 { return l.projection.Skipped() }

// Follow applies facts as they come, until the context ends (nil) or the source fails (its error).
// It survives failures of the database, see projection.Projection.
func (l *Ledger) Follow(ctx context.Context, source projection.Source) error {
	return l.projection.Follow(ctx, source)
}

// Apply applies facts, all or none, see projection.Projection.
func (l *Ledger) Apply(ctx context.Context, entries []projection.Entry) error {
	if err := l.projection.Apply(ctx, entries); err != nil {
		return failure("write the ledger", err)
	}
	return nil
}

// Last is the sequence number in the journal up to which facts have been applied.
func (l *Ledger) Last(ctx context.Context) (seq uint64, err error) {
	if seq, err = l.projection.Last(ctx); err != nil {
		return 0, failure("ask the ledger", err)
	}
	return seq, nil
}

// failure wraps an error of the database. If the database is only unavailable, the error is
// rpc.NotReady too.
func failure(action string, err error) error {
	if projection.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, rpc.NotReady.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
