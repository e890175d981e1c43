package store

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// dialect is what is different between databases that speak SQL. Rooms and migrations write
// SQLite's.
type dialect struct {
	// bind turns the places "?" of a statement into the database's.
	bind func(string) string
	// script turns the types of a migration into the database's.
	script func(string) string
	// turn is the statement that, in a transaction, waits until no other process migrates. SQLite's
	// transactions have the write lock anyway.
	turn string
}

var (
	sqlite   = &dialect{bind: same, script: same}
	postgres = &dialect{
		bind: numbered, script: postgresTypes,
		turn: `SELECT pg_advisory_xact_lock(7021650129)`, // any number that nobody else takes
	}
)

func same(statement string) string { return statement }

// numbered writes the places as $1, $2, …; a "?" in a quoted text is none.
func numbered(statement string) string {
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

// postgresTypes writes INTEGER, which has 64 bits in SQLite, and BLOB as PostgreSQL calls them.
func postgresTypes(script string) string {
	return sqliteType.ReplaceAllStringFunc(script, func(name string) string {
		return map[string]string{"INTEGER": "BIGINT", "BLOB": "BYTEA"}[name]
	})
}

// open reads an address and prepares the connections; the first statement makes them. The name is
// the address without its password.
func open(address string) (d *dialect, name string, write, read *sql.DB, err error) {
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
