// Package history is the SQL projection of what was streamed: every event, once and for good stored
// before anybody hears of it, byte for byte. internal/projection keeps it up with the journal.
//
//	journal ─▶ Follow ─▶ decode: Project ─▶ events, chunks, announced ─commit─▶ Applied: read what is new ─▶ Subscribe (in order of ids)
//	                                                                                      │
//	  Info ◀── memory ◀── the chunks: for every 1024 ids how many events, and between ◀───┘
//	  Page ◀──┘      └──▶ which blocks and times. A page is found there; only it, and the chunks where a bound falls, are read.
//
// Blocks and times grow with ids, nearly: facts of several services may come late. So the bounds of
// most chunks say that all or none of their events are asked for, and the few others are counted.
// That is right for any order of facts, and quick for all that occur.
//
// Ids ascend from 1 and none is given twice. An order has at most one event for ever, whatever has
// been deleted since.
//
// Several processes may share a database, one journal behind it: each publishes every event, once,
// whoever has written it.
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
	"github.com/gavel-relay/gavel/internal/store"
	"github.com/gavel-relay/gavel/stream"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Config is what the history needs.
type Config struct {
	// Project is what everybody may know of an order, nil for nothing, see hint.Project.
	Project func(*orderflow.Shared) ([]byte, error)
	Log     *slog.Logger
}

// History is open until Close. It is safe for concurrent use.
type History struct {
	projection *projection.Projection
	cfg        Config
	subscriber func([]stream.Event) // nil for nobody
	// known is what is known of the database's content, nil until it has answered. Whoever changes it
	// holds knowing.
	known   atomic.Pointer[summary]
	knowing sync.Mutex
	// published is the id of the last event that was published or that was there at the beginning.
	// knowing guards it.
	published int64
}

// Open opens a database, see store.Open for its address. SQLite must answer at once; PostgreSQL is
// asked for the first time by Follow, and until it answers queries fail with
// stream.HistoryUnavailable.
func Open(ctx context.Context, address string, cfg Config) (*History, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	h := &History{cfg: cfg}
	h.projection, err = projection.Open(ctx, address, projection.Config{
		Name: "history", Migrations: migrations, Decode: h.decode, Applied: h.learn, Log: cfg.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	if err := h.learn(ctx); err != nil && !store.Unavailable(err) {
		return nil, errors.Join(fmt.Errorf("open the history: %w", err), h.Close())
	}
	return h, nil
}

// Subscribe has new events given to somebody after they are stored, in order of their ids and each
// once; what was stored before Open is not given. publish must be quick: facts wait for it. Nobody
// may change the events. It is called once at most, before Follow.
func (h *History) Subscribe(publish func([]stream.Event)) { h.subscriber = publish }

// Close closes the database.
func (h *History) Close() error { return h.projection.Close() }

// CheckAtStart refuses a journal that the database was not made of, see projection.Projection.
func (h *History) CheckAtStart(ctx context.Context, journal projection.Log) error {
	return h.projection.CheckAtStart(ctx, journal)
}

// Skipped is the number of facts that could not be read since Open, see projection.Projection.
func (h *History) Skipped() uint64 { return h.projection.Skipped() }

// Follow applies facts as they come until the context ends (nil) or the source fails (its error).
// It survives the database, see projection.Projection.
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

// Last is the place in the journal up to which the history is made.
func (h *History) Last(ctx context.Context) (seq uint64, err error) {
	if seq, err = h.projection.Last(ctx); err != nil {
		return 0, failure("ask the history", err)
	}
	return seq, nil
}

// failure wraps an error of the database. One that is over when the database answers again is
// stream.HistoryUnavailable too.
func failure(action string, err error) error {
	if store.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", action, stream.HistoryUnavailable.Plain(), err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
