package projection

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

func openSQLite(place string) (write, read *sql.DB, err error) {
	const driver = "sqlite3"
	// The path is escaped because it may contain characters that end a path in a URL. A transaction
	// takes the write lock when it begins: if it took the lock later it could fail, because another
	// process has written meanwhile.
	source := "file:" + (&url.URL{Path: place}).EscapedPath() +
		"?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000&_foreign_keys=on"
	if place != ":memory:" {
		// the folder may be missing if the journal is elsewhere
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return nil, nil, err
		}
	}
	if write, err = sql.Open(driver, source+"&_txlock=immediate"); err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	if place == ":memory:" {
		write.SetConnMaxLifetime(0) // the database would end with its connection
		write.SetMaxIdleConns(1)
		return write, write, nil
	}
	if read, err = sql.Open(driver, source+"&_query_only=on"); err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(maxReaders)
	read.SetMaxIdleConns(maxReaders)
	return write, read, nil
}
