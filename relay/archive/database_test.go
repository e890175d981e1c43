package archive

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/internal/store/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

var quiet = slog.New(slog.DiscardHandler)

// openAt opens an archive, connected, until the test's end.
func openAt(t testing.TB, address string) *Archive {
	t.Helper()
	a, err := Open(t.Context(), address, quiet)
	if err != nil {
		t.Fatal(err)
	}
	db := a.database // a test may put another in front of it
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := a.database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// open opens an archive in memory.
func open(t testing.TB) *Archive {
	t.Helper()
	return openAt(t, "sqlite::memory:")
}

// onEach runs a test on every kind of database, and on one that fails half of the time.
func onEach(t *testing.T, test func(*testing.T, *Archive)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, open(t)) })
	t.Run("file", func(t *testing.T) { test(t, openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "archive.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, openAt(t, postgrestest.Start(t).Database(t))) })
	t.Run("faulty", func(t *testing.T) {
		a := open(t)
		a.database = &faulty{database: a.database, fault: inTurns()}
		test(t, a)
	})
}

// A fault of a transaction. After the last the transaction is kept, and only its answer is lost.
type fault int

const (
	none fault = iota
	beforeBegin
	beforeCommit
	afterCommit
)

var errFault = errors.New("injected fault")

// faulty is a database that fails as it is told. What it keeps is kept as in the real one.
type faulty struct {
	database
	// fault is the next transaction's.
	fault func() fault
	// dead makes everything fail.
	dead func() bool
}

// inTurns lets all faults happen, each with a transaction without one after it.
func inTurns() func() fault {
	turn := 0
	return func() fault {
		turn++
		return []fault{beforeBegin, none, beforeCommit, none, afterCommit, none}[(turn-1)%6]
	}
}

// InTx implements database.
func (f *faulty) InTx(ctx context.Context, do func(store.Tx) error) error {
	fault := f.fault()
	if fault == beforeBegin || f.isDead() {
		return errFault
	}
	err := f.database.InTx(ctx, func(tx store.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		if fault == beforeCommit {
			return errFault
		}
		return nil
	})
	if err == nil && fault == afterCommit {
		return errFault
	}
	return err
}

// Migrate implements database.
func (f *faulty) Migrate(ctx context.Context) error {
	if f.isDead() {
		return errFault
	}
	return f.database.Migrate(ctx)
}

func (f *faulty) isDead() bool { return f.dead != nil && f.dead() }
