package archive

import (
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay"
)

func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }

var quiet = slog.New(slog.DiscardHandler)

// openAt opens an archive, connected, until the test's end.
func openAt(t testing.TB, address string) *Archive {
	t.Helper()
	a, err := Open(t.Context(), address, quiet)
	if err != nil {
		t.Fatal(err)
	}
	db := a.projection.Database // a test may put another in front of it
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := a.projection.Migrate(t.Context()); err != nil {
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
	projectiontest.OnEach(t, func(t *testing.T, address string, front func(projection.Database) projection.Database) {
		a := openAt(t, address)
		a.projection.Database = front(a.projection.Database)
		test(t, a)
	})
}

// isUnavailable tells that the Data API answers 503.
func isUnavailable(err error) bool {
	refused := (*relay.Refused)(nil)
	return errors.As(err, &refused) && refused.ID == relay.ArchiveUnavailable.ID
}
