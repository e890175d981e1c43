package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Migrate connects, and applies the migrations that the database does not have yet, in the order of
// their names, each in its own transaction. Processes that migrate the same database at once take
// turns. After an error Migrate may be called again; after a success it does nothing.
//
// A migration is written for SQLite, with the column types INTEGER, BLOB and TEXT; see dialect.
func (db *DB) Migrate(ctx context.Context) error {
	db.migrating.Lock()
	defer db.migrating.Unlock()
	if db.ready.Load() {
		return nil
	}
	if err := db.migrate(ctx); err != nil {
		return fmt.Errorf("prepare database %s: %w", db.name, err)
	}
	db.ready.Store(true)
	return nil
}

func (db *DB) migrate(ctx context.Context) error {
	names, err := fs.Glob(db.migrations, "*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	err = db.inTurn(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`)
		return err
	})
	if err != nil {
		return err
	}
	if err := db.inTurn(ctx, func(tx Tx) error { return refuseNewer(ctx, tx, names) }); err != nil {
		return err
	}
	for _, name := range names {
		if err := db.inTurn(ctx, func(tx Tx) error { return db.apply(ctx, tx, name) }); err != nil {
			return fmt.Errorf("migration %s: %w", path.Base(name), err)
		}
	}
	return nil
}

// ErrNewer says that a newer version of the program has changed the tables, so this version would
// misread them.
var ErrNewer = errors.New("a newer version has changed the tables: start that version again, or give --db another " +
	"database")

// refuseNewer refuses a database with migrations that this version does not know.
func refuseNewer(ctx context.Context, tx Tx, known []string) error {
	var newest sql.NullString
	if err := tx.QueryRow(ctx, `SELECT max(name) FROM migrations`).Scan(&newest); err != nil {
		return err
	}
	if newest.Valid && (len(known) == 0 || newest.String > known[len(known)-1]) {
		return fmt.Errorf("%w (it has migration %s)", ErrNewer, newest.String)
	}
	return nil
}

// inTurn runs a transaction while no other process migrates.
func (db *DB) inTurn(ctx context.Context, do func(Tx) error) error {
	return db.inTx(ctx, func(tx Tx) error {
		if db.dialect.turn != "" {
			if _, err := tx.Exec(ctx, db.dialect.turn); err != nil {
				return fmt.Errorf("wait for other migrations: %w", err)
			}
		}
		return do(tx)
	})
}

func (db *DB) apply(ctx context.Context, tx Tx, name string) error {
	var applied int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM migrations WHERE name = ?`, name).Scan(&applied); err != nil ||
		applied > 0 {
		return err
	}
	script, err := fs.ReadFile(db.migrations, name)
	if err != nil {
		return err
	}
	if _, err := tx.tx.ExecContext(ctx, db.dialect.script(string(script))); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO migrations (name) VALUES (?)`, name)
	return err
}
