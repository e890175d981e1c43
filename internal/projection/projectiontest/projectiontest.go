// Package projectiontest has databases for the tests of projections: one of each kind, and one that
// fails. It is for tests only.
//
// It runs a real PostgreSQL: one server for a test process, on a unix socket in its own folder, and
// a new database for each test. The server does not sync to disk, and trusts every client that
// reaches the socket.
//
//	func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }
//
//	server := projectiontest.StartPostgres(t)
//	address := server.Database(t) // postgres://…, empty
//	server.Stop(t); server.Restart(t)
//	server.Pause(t); server.Resume(t)
package projectiontest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/gavel-relay/gavel/internal/projection"
)

// OnEach runs a test with an empty database of every kind, and with one that fails in half of its
// transactions. The test must wrap its projection's Database with front, which returns the others
// unchanged, and must try again after ErrFault.
func OnEach(t *testing.T, test func(t *testing.T, address string,
	front func(projection.Database) projection.Database)) {
	t.Helper()
	itself := func(db projection.Database) projection.Database { return db }
	t.Run("memory", func(t *testing.T) { test(t, "sqlite::memory:", itself) })
	t.Run("file", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "projection.db"), itself) })
	t.Run("postgres", func(t *testing.T) { test(t, StartPostgres(t).Database(t), itself) })
	t.Run("faulty", func(t *testing.T) {
		test(t, "sqlite::memory:", func(db projection.Database) projection.Database {
			return &Faulty{Database: db, Next: InTurns()}
		})
	})
}

// Fault is what happens to a transaction.
type Fault int

// The faults. With AfterCommit the transaction is committed, and only its answer is lost.
const (
	None Fault = iota
	BeforeBegin
	BeforeCommit
	AfterCommit
)

// ErrFault is the error of a Faulty database.
var ErrFault = errors.New("injected fault")

// Faulty is a database that fails as Next and Dead say. What it commits is in the real database.
type Faulty struct {
	projection.Database
	// Next returns the next transaction's fault.
	Next func() Fault
	// Dead, if set, says whether everything fails.
	Dead func() bool
}

// InTurns returns all faults in turn; after each comes a transaction without a fault.
func InTurns() func() Fault {
	turn := 0
	return func() Fault {
		turn++
		return []Fault{BeforeBegin, None, BeforeCommit, None, AfterCommit, None}[(turn-1)%6]
	}
}

// InTx implements projection.Database.
func (f *Faulty) InTx(ctx context.Context, do func(projection.Tx) error) error {
	fault := f.Next()
	if fault == BeforeBegin || f.dead() {
		return ErrFault
	}
	err := f.Database.InTx(ctx, func(tx projection.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		if fault == BeforeCommit {
			return ErrFault
		}
		return nil
	})
	if err == nil && fault == AfterCommit {
		return ErrFault
	}
	return err
}

// Migrate implements projection.Database.
func (f *Faulty) Migrate(ctx context.Context) error {
	if f.dead() {
		return ErrFault
	}
	return f.Database.Migrate(ctx)
}

func (f *Faulty) dead() bool { return f.Dead != nil && f.Dead() }

// Apply applies facts. Like Follow, it tries again after an injected fault.
func Apply(t testing.TB, to interface {
	Apply(ctx context.Context, entries []projection.Entry) error
}, entries ...projection.Entry,
) {
	t.Helper()
	for {
		err := to.Apply(t.Context(), entries)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrFault) {
			t.Fatal(err)
		}
	}
}
