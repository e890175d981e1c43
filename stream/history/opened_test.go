package history

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/stream"
)

func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }

var quiet = slog.New(slog.DiscardHandler)

// unreadable is the number of an order that cannot be projected.
const unreadable = 6_660_000

// line is the hint of the order of a number, in these tests.
func line(order uint64) string { return fmt.Sprintf(`{"order":%d}`, order) }

// project is what the tests' orders show: nothing without hints, and an error for the unreadable
// one.
func project(shared *orderflow.Shared) ([]byte, error) {
	order := binary.BigEndian.Uint64(shared.Hash[24:])
	switch {
	case shared.Bundle.Hints == 0:
		return nil, nil
	case order == unreadable:
		return nil, errors.New("unreadable")
	}
	return []byte(line(order)), nil
}

// openedHistory is a history, and what it has published.
type openedHistory struct {
	*History
	published []stream.Event
}

// openAt opens a history, connected, until the test's end.
func openAt(t testing.TB, address string) *openedHistory {
	t.Helper()
	h := &openedHistory{}
	opened, err := Open(t.Context(), address, Config{
		Project: project, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.History = opened
	h.Subscribe(func(events []stream.Event) { h.published = append(h.published, events...) })
	db := opened.projection.Database // a test may put another in front of it
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.readEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// onEach runs a test on every kind of database, and on one that fails half of the time.
func onEach(t *testing.T, test func(*testing.T, *openedHistory)) {
	t.Helper()
	projectiontest.OnEach(t, func(t *testing.T, address string, front func(projection.Database) projection.Database) {
		h := openAt(t, address)
		h.projection.Database = front(h.projection.Database)
		test(t, h)
	})
}

// came is an order of a number that was shared, at a second and in a block.
type came struct {
	order      uint64
	block, sec int64
}

func (c came) entry(seq uint64) projection.Entry {
	shared := orderflow.Shared{At: time.Unix(c.sec, 999_999_999).UTC(), Block: uint64(c.block),
		Bundle: orderflow.Bundle{Hints: orderflow.Hash}}
	binary.BigEndian.PutUint64(shared.Hash[24:], c.order)
	shared.Hash[0] = 0xab
	data, err := json.Marshal(shared)
	if err != nil {
		panic(err)
	}
	return projection.Entry{Seq: seq, Subject: orderflow.SharedSubject, Data: data}
}

func (c came) event(id uint64) stream.Event {
	return stream.Event{ID: id, Block: uint64(c.block), At: time.Unix(c.sec, 0).UTC(), JSON: []byte(line(c.order))}
}

// record applies facts as the next ones of the journal, in batches as Follow does.
func record(t testing.TB, h *openedHistory, facts ...came) {
	t.Helper()
	last, err := h.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for batch := range slices.Chunk(facts, projection.MaxBatch) {
		entries := make([]projection.Entry, len(batch))
		for i, fact := range batch {
			last++
			entries[i] = fact.entry(last)
		}
		projectiontest.Apply(t, h, entries...)
	}
}

// page asks for events; their hints are what is compared.
func page(t testing.TB, h *openedHistory, q stream.Query) string {
	t.Helper()
	events, err := h.Page(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if events == nil {
		t.Error("a page is nil")
	}
	return shown(events)
}

// shown are events as id:order.
func shown(events []stream.Event) string {
	var list []string
	for _, event := range events {
		list = append(list,
			fmt.Sprintf("%d:%s", event.ID, strings.TrimSuffix(strings.TrimPrefix(string(event.JSON), `{"order":`), "}")))
	}
	return strings.Join(list, " ")
}

func info(t testing.TB, h *openedHistory) stream.Info {
	t.Helper()
	info, err := h.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// everything is a query without bounds.
func everything(limit int) stream.Query {
	return stream.Query{Blocks: stream.Always, Times: stream.Always, Limit: limit}
}
