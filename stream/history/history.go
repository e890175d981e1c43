// Package history is the SQL projection of streamed events. It stores every event once, byte for
// byte, before the event is published. internal/projection keeps it up with the journal.
//
//	journal ─▶ Follow ─▶ decode: Project ─▶ events, chunks, announced ─commit─▶ Applied: read what is new ─▶ Subscribe (in order of ids)
//	                                                                                      │
//	  Info ◀── memory ◀── the chunks: for every 1024 ids how many events, and between ◀───┘
//	  Page ◀──┘      └──▶ which blocks and times. A page is found there; only it, and the chunks where a bound falls, are read.
//
// Blocks and times mostly grow with ids; only facts of several services may come late. So the
// bounds of most chunks tell that a query asks for all or none of their events, and only the few
// others must be counted in the database. The result is right for any order of facts, and quick for
// usual orders.
//
// Ids ascend and are never reused: an event has the number of its fact in the journal, so that all
// instances of one journal give it the same id, also with a database each. An order has at most one
// event, also after that event was deleted.
//
// Several processes with the same journal may share a database. Each of them publishes every event
// once, whichever of them has stored it.
package history

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/stream"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Config is what the history needs.
type Config struct {
	// Project returns what is public of an order; nil for nothing. See stream.ProjectHints.
	Project func(*orderflow.Shared) ([]byte, error)
	Log     *slog.Logger
}

// History is an open history. The caller must Close it. It is safe for concurrent use.
type History struct {
	projection *projection.Projection
	cfg        Config
	subscriber func([]stream.Event) // nil if there is none
	// known sums up the database's content; nil until the database has answered. knowing must be
	// held to change it.
	known   atomic.Pointer[summary]
	knowing sync.Mutex
	// published is the id of the last event that was published, or that was stored before Open.
	// knowing guards it.
	published int64
}

// Open opens a database; see projection.OpenDatabase for its address. SQLite must answer at once.
// PostgreSQL need not: until it answers Follow, queries fail with stream.HistoryUnavailable.
func Open(ctx context.Context, address string, cfg Config) (*History, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	h := &History{cfg: cfg}
	h.projection, err = projection.Open(ctx, address, projection.Config{
		Name: "history", Migrations: migrations, Decode: h.decode, Applied: h.readEvents, Log: cfg.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	if err := h.readEvents(ctx); err != nil && !projection.Unavailable(err) {
		return nil, errors.Join(fmt.Errorf("open the history: %w", err), h.Close())
	}
	return h, nil
}

// Subscribe sets the function that gets new events after they are stored, in order of their ids and
// each once. It does not get events that were stored before Open. publish must be quick, because
// further facts wait for it, and must not change the events. Subscribe may be called once, before
// Follow.
func (h *History) Subscribe(publish func([]stream.Event)) { h.subscriber = publish }

// Close closes the database.
func (h *History) Close() error { return h.projection.Close() }

// CheckAtStart refuses a journal from which the database was not made; see projection.Projection.
func (h *History) CheckAtStart(ctx context.Context, journal projection.Log) error {
	return h.projection.CheckAtStart(ctx, journal)
}

// Skipped is the number of facts since Open that could not be read; see projection.Projection.
func (h *History) Skipped() uint64 { return h.projection.Skipped() }

// Follow applies facts as they come, also after outages of the database; see projection.Projection.
func (h *History) Follow(ctx context.Context, source projection.Source) error {
	return h.projection.Follow(ctx, source)
}

// Apply stores the events of facts, all or none, and publishes those that are new.
func (h *History) Apply(ctx context.Context, entries []projection.Entry) error {
	if err := h.projection.Apply(ctx, entries); err != nil {
		return failure("write the history", err)
	}
	return nil
}

// Last is the number of the newest fact of the journal that is applied.
func (h *History) Last(ctx context.Context) (seq uint64, err error) {
	if seq, err = h.projection.Last(ctx); err != nil {
		return 0, failure("ask the history", err)
	}
	return seq, nil
}

// failure wraps an error of the database. If the database does not answer, the error is
// stream.HistoryUnavailable, too.
func failure(action string, err error) error {
	if projection.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, stream.HistoryUnavailable.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
