package history

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/stream"
)

// An order's event is stored once, then published; what comes again, shares nothing or is another's
// fact gives none.
func TestAnEventForEachOrder(t *testing.T) {
	onEach(t, func(t *testing.T, h *openedHistory) {
		if got := info(t, h); got != (stream.Info{}) {
			t.Errorf("an empty history has %+v", got)
		}
		nothing, other, broken := came{order: 5}.entry(4), came{order: 6}.entry(5), came{order: unreadable}.entry(6)
		nothing.Data = []byte(`{"at":"2026-01-01T00:00:00Z","bundle":{"elements":null}}`)
		other.Subject = "rpc.order_ended"
		projectiontest.Apply(t, h, came{1, 10, 100}.entry(1), came{2, 10, 101}.entry(2), came{1, 11, 102}.entry(3), nothing,
			other, broken)
		record(t, h, came{3, 11, 103}, came{2, 12, 104})

		if got, want := page(t, h, everything(10)), "1:1 2:2 7:3"; got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
		want := []stream.Event{came{1, 10, 100}.event(1), came{2, 10, 101}.event(2), came{3, 11, 103}.event(7)}
		if !reflect.DeepEqual(h.published, want) {
			t.Errorf("published %v, want %v", h.published, want)
		}
		if got := (stream.Info{Count: 3, MinBlock: 10, MaxBlock: 11, MinSec: 100, MaxSec: 103}); info(t, h) != got {
			t.Errorf("%+v, want %+v", info(t, h), got)
		}
		if h.Skipped() == 0 {
			t.Error("the fact that cannot be read is not counted")
		}
	})
}

// A block or a time that no client could write in a query is a mistake.
func TestNoSuchTime(t *testing.T) {
	h := openAt(t, "sqlite::memory:")
	huge := came{order: 1}.entry(1)
	huge.Data = []byte(`{"at":"2026-01-01T00:00:00Z","block":18446744073709551615,"bundle":{"hints":1,"elements":null}}`)
	projectiontest.Apply(t, h, huge, came{2, 1, -5}.entry(2), projection.Entry{Seq: 3, Subject: orderflow.SharedSubject,
		Data: []byte(`[]`)})
	if got := h.Skipped(); got != 3 || page(t, h, everything(1)) != "" {
		t.Errorf("%d skipped, want 3 and no event", got)
	}
}

// An event is in the history when it is published.
func TestStoredThenPublished(t *testing.T) {
	var found []string
	h, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "history.db"), Config{Project: project, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	h.Subscribe(func(events []stream.Event) {
		past, err := h.After(t.Context(), events[0].ID-1, len(events))
		if err != nil || !reflect.DeepEqual(past, events) {
			t.Errorf("published %v, stored %v, %v", events, past, err)
		}
		listed, err := h.Page(t.Context(), everything(10))
		if err != nil {
			t.Error(err)
		}
		found = append(found, shown(listed))
	})
	defer h.Close() // the file goes with the test
	if err := h.readEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 2; seq++ {
		projectiontest.Apply(t, h, came{seq, 1, 1}.entry(seq))
	}
	if want := []string{"1:1", "1:1 2:2"}; !reflect.DeepEqual(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// A history that is opened again knows what it has, and publishes only what is new, by the number
// of its fact.
func TestOpenedAgain(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "history.db")
	before := openAt(t, address)
	record(t, before, came{1, 10, 100}, came{2, 11, 101})
	again := openAt(t, address)
	if info(t, again) != info(t, before) {
		t.Errorf("%+v, want %+v", info(t, again), info(t, before))
	}
	record(t, again, came{2, 12, 102}, came{3, 12, 103})
	if got := shown(again.published); got != "4:3" {
		t.Errorf("published %q", got)
	}
}

// Of two processes with one database each publishes every event once, whoever has written it.
func TestTwoProcesses(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "history.db")
	one, two := openAt(t, address), openAt(t, address)
	for seq := uint64(1); seq <= 6; seq++ {
		first, second := one, two
		if seq%2 == 0 {
			first, second = two, one
		}
		projectiontest.Apply(t, first, came{seq, 1, 1}.entry(seq))
		projectiontest.Apply(t, second, came{seq, 1, 1}.entry(seq))
	}
	const want = "1:1 2:2 3:3 4:4 5:5 6:6"
	if got := [2]string{shown(one.published), shown(two.published)}; got != [2]string{want, want} {
		t.Errorf("published %q", got)
	}
	if info(t, one) != info(t, two) || info(t, one).Count != 6 {
		t.Errorf("%+v and %+v", info(t, one), info(t, two))
	}
}

// Who resumes gets what comes after an id, and no more.
func TestAfter(t *testing.T) {
	h := openAt(t, "sqlite::memory:")
	record(t, h, came{1, 1, 1}, came{2, 1, 1}, came{3, 1, 1}, came{4, 1, 1})
	for _, c := range []struct {
		id    uint64
		limit int
		want  string
	}{{0, 10, "1:1 2:2 3:3 4:4"}, {0, 2, "1:1 2:2"}, {2, 10, "3:3 4:4"}, {3, 1, "4:4"}, {4, 10, ""}, {1 << 63, 10, ""},
		{1, 0, ""}, {1, -1, ""}} {
		events, err := h.After(t.Context(), c.id, c.limit)
		if got := shown(events); err != nil || got != c.want {
			t.Errorf("after %d, %d: %q, %v, want %q", c.id, c.limit, got, err, c.want)
		}
	}
}

// Until the database has answered there is no history.
func TestUnavailable(t *testing.T) {
	h, err := Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", Config{Project: project, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close() // it was never connected
	_, infoErr := h.Info()
	_, pageErr := h.Page(t.Context(), everything(1))
	_, afterErr := h.After(t.Context(), 0, 1)
	_, lastErr := h.Last(t.Context())
	_, pruneErr := h.Prune(t.Context(), noon, Retention{})
	for _, err := range []error{infoErr, pageErr, afterErr, lastErr, pruneErr, h.Apply(context.Background(), nil)} {
		if refused := (*stream.Refused)(nil); !errors.As(err, &refused) || refused.ID != stream.HistoryUnavailable.ID {
			t.Errorf("%v", err)
		}
	}
}
