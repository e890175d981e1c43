package projection

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout is how long PostgreSQL may take to accept a connection, unless the address has
// connect_timeout.
const connectTimeout = 5 * time.Second

// openPostgres reads an address. It does not return the parsers' own errors, because these could
// quote the password.
func openPostgres(address string) (name string, write, read *sql.DB, err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", nil, nil, errors.New("the address cannot be read: want postgres://USER:PASSWORD@HOST:PORT/NAME, " +
			"with what a URL cannot hold in it written as %XX")
	}
	name = redacted(parsed)
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return "", nil, nil, errors.New(name + " cannot be used: its host, port, parameters or certificates are wrong")
	}
	if config.ConnectTimeout <= 0 || !parsed.Query().Has("connect_timeout") {
		config.ConnectTimeout = connectTimeout
	}
	write = stdlib.OpenDB(*config)
	write.SetMaxOpenConns(1)
	reading := config.Copy()
	reading.RuntimeParams["default_transaction_read_only"] = "on"
	read = stdlib.OpenDB(*reading)
	read.SetMaxOpenConns(maxReaders)
	read.SetMaxIdleConns(maxReaders)
	return name, write, read, nil
}

// redacted is the address without its password and without parameters, which may also hold one.
func redacted(address *url.URL) string {
	shown := *address
	shown.RawQuery, shown.Fragment = "", ""
	return shown.Redacted()
}

// Unavailable says that an error means that the database does not answer, so the same request may
// succeed later.
func Unavailable(err error) bool {
	if refused := (*pgconn.ConnectError)(nil); errors.Is(err, ErrNotReady) || errors.As(err, &refused) {
		return true
	}
	if answer := (*pgconn.PgError)(nil); errors.As(err, &answer) {
		// 08: the connection failed. 53: out of connections, memory or disk. 57P: shutting down, crashed
		// or starting.
		return strings.HasPrefix(answer.Code, "08") || strings.HasPrefix(answer.Code, "53") ||
			strings.HasPrefix(answer.Code, "57P")
	}
	if broken := net.Error(nil); errors.As(err, &broken) {
		return true
	}
	return slices.ContainsFunc([]error{driver.ErrBadConn, pgconn.ErrConnClosed, io.ErrUnexpectedEOF, io.EOF,
		net.ErrClosed},
		func(ended error) bool { return errors.Is(err, ended) })
}
