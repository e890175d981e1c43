// Package ledger is the SQL projection of what the bundle RPC has to remember: refunds, where they
// go, and orders that the pool has forgotten. internal/projection keeps it up with the journal.
//
//	journal ─▶ projection.Follow ─▶ decode ─┬─ refund_credited, refund_paid ──▶ refunds ─┬─▶ ByRecipient, ByBundle, ByBlock, Delayed (pages)
//	                                  ├─ block_indexed, block_reverted ▶ blocks ───┴─▶ Totals, DelayedTotals, IndexedUpTo
//	                                  ├─ recipient_set ────────────────▶ recipients ─▶ Recipient, RecipientAt
//	                                  └─ order_ended, order_sent, … ───▶ orders ─────▶ Order
//
// A refund is pending from the moment that its block is indexed, and received when its payout was
// seen; a block that is reverted takes its refunds with it, and the payouts that were seen in it.
// What is not indexed is not told: answers hold for the blocks up to their UpTo.
//
// The database is the ledger's own: it has its own progress.
package ledger

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/rpc"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Config says what the ledger tells. The zero value tells all at once.
type Config struct {
	// EarliestBlock is the first block whose refunds ByRecipient lists; totals count those before it
	// too. 20802497 on mainnet.
	EarliestBlock uint64
	// DetailsDelay is how old a block must be, by its timestamp, before ByRecipient, ByBundle and
	// ByBlock list its refunds.
	DetailsDelay time.Duration
	// TotalsEvery is how often Totals changes: it answers as it would have at the last multiple of
	// this since 1970. 0 is always.
	TotalsEvery time.Duration
	Log         *slog.Logger
}

// Ledger is open until Close. It is safe for concurrent use.
type Ledger struct {
	projection *projection.Projection
	cfg        Config
}

// Open opens a database, see store.Open for its address. SQLite must answer at once; PostgreSQL is
// asked for the first time by Follow, and until it answers queries fail with rpc.NotReady.
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

// CheckAtStart refuses a journal that the database was not made of, see projection.Projection.
func (l *Ledger) CheckAtStart(ctx context.Context, journal projection.Log) error {
	return l.projection.CheckAtStart(ctx, journal)
}

// Skipped is the number of facts that could not be read since Open, see projection.Projection.
func (l *Ledger) Skipped() uint64 { return l.projection.Skipped() }

// Follow applies facts as they come until the context ends (nil) or the source fails (its error).
// It survives the database, see projection.Projection.
func (l *Ledger) Follow(ctx context.Context, source projection.Source) error {
	return l.projection.Follow(ctx, source)
}

// Apply enters facts, all or none, see projection.Projection.
func (l *Ledger) Apply(ctx context.Context, entries []projection.Entry) error {
	if err := l.projection.Apply(ctx, entries); err != nil {
		return failure("write the ledger", err)
	}
	return nil
}

// Last is the place in the journal up to which the ledger is kept.
func (l *Ledger) Last(ctx context.Context) (seq uint64, err error) {
	if seq, err = l.projection.Last(ctx); err != nil {
		return 0, failure("ask the ledger", err)
	}
	return seq, nil
}

// failure wraps an error of the database. One that is over when the database answers again is
// rpc.NotReady too.
func failure(action string, err error) error {
	if store.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, rpc.NotReady.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
