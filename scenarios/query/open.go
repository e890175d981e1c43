package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/internal/run"
)

// driver is the name under which the engine registers itself.
const driver = "duckdb"

// errNoEngine means that this program has no engine.
var errNoEngine = errors.New("this program was built without SQL: build it by make lab-sql, or ask DuckDB's own " +
	"program as docs/replay.md shows")

// errNoTable means that a folder has no table of a data set.
var errNoTable = errors.New("there is no table: import archives by gavel-lab replay import --into DIR")

// Source says what is asked.
type Source struct {
	// Dataset is the folder of a data set.
	Dataset string
	// Results is a folder that replay run has written its results into; empty without.
	Results string
}

// DB is a data set that is open for questions. Close it when it is no longer needed.
type DB struct {
	sql    *sql.DB
	tables []string
}

// Open makes a view of each table. The files are read by the questions that need them.
func Open(ctx context.Context, from Source) (*DB, error) {
	if !slices.Contains(sql.Drivers(), driver) {
		return nil, run.Usage(errNoEngine)
	}
	files, err := findTables(from)
	if err != nil {
		return nil, err
	}
	engine, err := sql.Open(driver, "")
	if err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	engine.SetMaxOpenConns(1) // views and settings are those of one connection
	db := &DB{sql: engine}
	statements := []string{"SET TimeZone = 'UTC'"}
	for _, table := range files {
		statements = append(statements, fmt.Sprintf(
			`CREATE VIEW "%s" AS SELECT * FROM read_parquet(%s, union_by_name = true)`, table.name, quote(table.glob)))
		db.tables = append(db.tables, table.name)
	}
	for _, statement := range statements {
		if _, err := engine.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), engine.Close())
		}
	}
	return db, nil
}

// Close closes the engine.
func (db *DB) Close() error { return db.sql.Close() }

// found is a table's name, and the pattern of its files.
type found struct{ name, glob string }

// findTables lists the tables that have files.
func findTables(from Source) (tables []found, err error) {
	entries, err := os.ReadDir(from.Dataset)
	if err != nil {
		return nil, run.Usage(fmt.Errorf("read the data set: %w", err))
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		glob := filepath.Join(from.Dataset, entry.Name(), "day=*", "*.parquet")
		files, err := filepath.Glob(glob)
		if err != nil {
			return nil, fmt.Errorf("look for tables: %w", err)
		}
		if len(files) > 0 {
			tables = append(tables, found{entry.Name(), glob})
		}
	}
	if len(tables) == 0 {
		return nil, run.Usage(fmt.Errorf("%s: %w", from.Dataset, errNoTable))
	}
	if from.Results != "" {
		file := filepath.Join(from.Results, "results.parquet")
		if _, err := os.Stat(file); err != nil {
			return nil, run.Usage(fmt.Errorf("read the results of a replay: %w", err))
		}
		tables = append(tables, found{"results", file})
	}
	slices.SortFunc(tables, func(a, b found) int { return strings.Compare(a.name, b.name) })
	return tables, nil
}

// quote writes a text as SQL does.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
