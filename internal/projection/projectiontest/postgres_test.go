package projectiontest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// Databases are apart, empty at first, and are still there when the server was away.
func TestDatabasesOutliveAStop(t *testing.T) {
	server := StartPostgres(t)
	addresses := []string{server.Database(t), server.Database(t)}
	for _, address := range addresses { // the second would refuse the table if it were the first
		change(t, address, `CREATE TABLE thing (n INT)`)
	}
	server.Stop(t)
	if err := ask(t, addresses[0], `SELECT 1`); err == nil {
		t.Error("a server that is stopped answers")
	}
	server.Restart(t)
	change(t, addresses[0], `INSERT INTO thing VALUES (1)`)
}

// A server that is paused keeps its connections and answers nothing, also nobody who comes anew,
// until it goes on.
func TestAPausedServerAnswersNothing(t *testing.T) {
	server := StartPostgres(t)
	address := server.Database(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	known, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	server.Pause(t)
	answered := make(chan error, 2)
	go func() { _, err := known.ExecContext(t.Context(), `SELECT 1`); answered <- err }()
	go func() { _, err := db.ExecContext(t.Context(), `SELECT 1`); answered <- err }()
	if err := impatient(t, address); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want no answer", err)
	}
	if len(answered) > 0 {
		t.Error("a server that is paused answers")
	}
	server.Resume(t)
	for range 2 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

// impatient asks a server and waits for a moment.
func impatient(t *testing.T, address string) error {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(ctx, `SELECT 1`)
	return err
}

// A test that needs PostgreSQL fails without it, and says what to do.
func TestMissingServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("%v, want what to install", err)
	}
}

func change(t *testing.T, address, statement string) {
	t.Helper()
	if err := ask(t, address, statement); err != nil {
		t.Error(err)
	}
}

func ask(t *testing.T, address, statement string) error {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	return err
}
