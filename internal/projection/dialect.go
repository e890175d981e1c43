package projection

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// dialect has the differences between the databases' SQL. Callers and migrations write SQLite's.
type dialect struct {
	// bind translates the placeholders "?" of a statement.
	bind func(string) string
	// script translates the column types of a migration.
	script func(string) string
	// turn is a statement that, in a transaction, waits until no other process migrates. It is
	// empty for SQLite, whose transactions hold the write lock anyway.
	turn string
}

var (
	sqlite   = &dialect{bind: same, script: same}
	postgres = &dialect{
		bind: numberPlaceholders, script: postgresTypes,
		turn: `SELECT pg_advisory_xact_lock(7021650129)`, // any number that other programs do not use
	}
)

func same(statement string) string { return statement }

// numberPlaceholders writes the placeholders as $1, $2, …; a "?" in a quoted text is no
// placeholder.
func numberPlaceholders(statement string) string {
	var out strings.Builder
	place, quoted := 0, false
	for _, c := range statement {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == '?' && !quoted:
			place++
			out.WriteString("$" + strconv.Itoa(place))
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

var sqliteType = regexp.MustCompile(`\b(INTEGER|BLOB)\b`)

// postgresTypes replaces INTEGER, which has 64 bits in SQLite, and BLOB by PostgreSQL's names.
func postgresTypes(script string) string {
	return sqliteType.ReplaceAllStringFunc(script, func(name string) string {
		return map[string]string{"INTEGER": "BIGINT", "BLOB": "BYTEA"}[name]
	})
}

// open reads an address and prepares the connections; the first statement connects. name is the
// address without its password.
func openDatabase(address string) (d *dialect, name string, write, read *sql.DB, err error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch {
	case kind == "sqlite" && rest != "":
		write, read, err = openSQLite(rest)
		if err != nil {
			err = fmt.Errorf("%s: %w", address, err)
		}
		return sqlite, address, write, read, err
	case (kind == "postgres" || kind == "postgresql") && strings.HasPrefix(rest, "//"):
		name, write, read, err = openPostgres(address)
		return postgres, name, write, read, err
	default: // the rest may hold a password
		return nil, "", nil, nil,
			errors.New("unknown address: want sqlite:PATH, sqlite::memory: or postgres://USER:PASSWORD@HOST:PORT/NAME")
	}
}
