// Package archive makes SQL views of the relay's facts, for the Data API. It reads the journal at its own pace: the auction never waits
// for it, and after a restart it goes on where it stopped and misses nothing.
//
//	journal ──Read(from last + 1)──▶ Follow ──batches──▶ Apply ──one transaction──▶ tables ◀──queries── api/data
package archive

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/gavel-relay/gavel/internal/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Archive is open until Close. It is safe for concurrent use.
type Archive struct{ db *store.DB }

// Open opens the database, see store.Open for the URL.
func Open(ctx context.Context, url string) (*Archive, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, url, migrations)
	if err != nil {
		return nil, err
	}
	return &Archive{db}, nil
}

// Close closes the database.
func (a *Archive) Close() error { return a.db.Close() }

// Last is the place in the journal up to which the views are made.
func (a *Archive) Last(ctx context.Context) (seq uint64, err error) {
	if err := a.db.QueryRow(ctx, `SELECT seq FROM progress`).Scan(&seq); err != nil {
		return 0, fmt.Errorf("read the archive's progress: %w", err)
	}
	return seq, nil
}

// Entry is one fact as the journal keeps it.
type Entry struct {
	Seq     uint64
	Subject string
	Data    []byte
}

// Apply makes views of facts, all or none. Facts that were applied before are skipped, facts of other kinds only counted.
func (a *Archive) Apply(ctx context.Context, entries []Entry) error {
	err := a.db.InTx(ctx, func(tx *sql.Tx) error {
		var last uint64
		if err := tx.QueryRowContext(ctx, `SELECT seq FROM progress`).Scan(&last); err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.Seq <= last {
				continue
			}
			if err := apply(ctx, tx, entry); err != nil {
				return fmt.Errorf("fact %d (%s): %w", entry.Seq, entry.Subject, err)
			}
			last = entry.Seq
		}
		_, err := tx.ExecContext(ctx, `UPDATE progress SET seq = ?`, int64(last))
		return err
	})
	if err != nil {
		return fmt.Errorf("apply facts: %w", err)
	}
	return nil
}
