// Package archive makes SQL projections of the relay's facts, for the Data API: payloads that were
// delivered, submissions that counted, and every validator's newest registration.
// internal/projection keeps them up to date with the journal.
//
//	journal ──▶ projection.Follow ──Apply──▶ tables (delivered, received, registrations) ◀──queries── api
package archive

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Archive is open until Close. It is safe for concurrent use.
type Archive struct {
	projection *projection.Projection
	log        *slog.Logger
}

// Open opens a database, see projection.OpenDatabase for its address. SQLite must answer at once.
// PostgreSQL is first asked by Follow, so that a relay can start without it; until it answers,
// queries fail with relay.ArchiveUnavailable.
func Open(ctx context.Context, address string, log *slog.Logger) (*Archive, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	opened, err := projection.Open(ctx, address, projection.Config{Name: "archive", Migrations: migrations,
		Decode: decode, Log: log})
	if err != nil {
		return nil, err
	}
	return &Archive{projection: opened, log: log}, nil
}

// Close closes the database.
func (a *Archive) Close() error { return a.projection.Close() }

// CheckAtStart returns an error if the database was made from another journal, see
// projection.Projection.
func (a *Archive) CheckAtStart(ctx context.Context, journal projection.Log) error {
	return a.projection.CheckAtStart(ctx, journal)
}

// Skipped returns the number of facts that could not be read since Open, see projection.Projection.
func (a *Archive) Skipped() uint64 { return a.projection.Skipped() }

// Follow applies facts as they come, until the context ends (nil) or the source fails (its error).
// It goes on after failures of the database, see projection.Projection.
func (a *Archive) Follow(ctx context.Context, source projection.Source) error {
	return a.projection.Follow(ctx, source)
}

// Last returns the place in the journal up to which facts are applied.
func (a *Archive) Last(ctx context.Context) (seq uint64, err error) {
	seq, err = a.projection.Last(ctx)
	if err != nil {
		return 0, failure("ask the archive", err)
	}
	return seq, nil
}

// Apply applies facts to the projections, all or none, see projection.Projection.
func (a *Archive) Apply(ctx context.Context, entries []projection.Entry) error {
	if err := a.projection.Apply(ctx, entries); err != nil {
		return failure("write the archive", err)
	}
	return nil
}

// failure wraps an error of the database. If it means that the database does not answer now, it is
// relay.ArchiveUnavailable too.
func failure(action string, err error) error {
	if projection.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, relay.ArchiveUnavailable.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
