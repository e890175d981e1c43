package broadcast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/stream"
)

// event is one whose JSON says its id.
func event(id uint64) stream.Event {
	return stream.Event{ID: id, Block: id / 10, JSON: fmt.Appendf(nil, `{"hash":"0x%064x","logs":null,"txs":null}`, id)}
}

// events are those from the first id to the last.
func events(first, last uint64) (all []stream.Event) {
	for id := first; id <= last; id++ {
		all = append(all, event(id))
	}
	return all
}

func listen(t testing.TB, b *Broadcast, what Subscription) *Listener {
	t.Helper()
	l, err := b.Listen(t.Context(), what)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Leave)
	return l
}

// heard is all that a listener can take without waiting.
func heard(t testing.TB, l *Listener) (all string) {
	t.Helper()
	for {
		select {
		case <-l.Ready():
			frames, err := l.Take()
			if err != nil {
				return all + err.Error()
			}
			all += string(frames)
		default:
			return all
		}
	}
}

// ids are those of numbered frames, in their order.
func ids(frames string) (all []uint64) {
	for line := range strings.Lines(frames) {
		var id uint64
		if n, _ := fmt.Sscanf(line, "id: %d", &id); n == 1 {
			all = append(all, id)
		}
	}
	return all
}

// The bytes are the interface: clients read lines, and some know no more than these.
func TestFrames(t *testing.T) {
	chunks := newChunk()
	for _, e := range []stream.Event{
		{ID: 1, JSON: []byte(`{"hash":"0x01","logs":null,"txs":null}`)},
		{ID: 18_446_744_073_709_551_615,
			JSON: []byte(`{"hash":"0x02","logs":null,"txs":[{"to":"0x03"}],"mevGasPrice":"0x0","gasUsed":"0x5300"}`)},
	} {
		chunks.add(e)
	}
	golden.File(t, "testdata/plain.txt", string(chunks.plain))
	golden.File(t, "testdata/numbered.txt", string(chunks.numbered))
	for _, row := range []struct {
		after  uint64
		events int
		want   string
	}{
		{0, 2, string(chunks.numbered)},
		{1, 1, string(chunks.numbered[chunks.ends[0]:])},
		{2, 1, string(chunks.numbered[chunks.ends[0]:])},
		{18_446_744_073_709_551_615, 0, ""},
	} {
		if got, n := chunks.after(row.after); string(got) != row.want || n != row.events {
			t.Errorf("after %d: %d events, %q", row.after, n, got)
		}
	}
}

// All listeners are given the very same bytes.
func TestListenersShareBytes(t *testing.T) {
	b := New(Config{})
	one, other := listen(t, b, Subscription{}), listen(t, b, Subscription{})
	b.Publish(events(1, 3))
	first, _ := one.Take()
	second, _ := other.Take()
	if len(first) == 0 || &first[0] != &second[0] || len(first) != len(second) {
		t.Error("the bytes were copied")
	}
}

// When it is quiet an event goes out at once; what follows gathers, as long as the number of
// listeners allows.
func TestEventsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{PerListener: time.Millisecond})
		l, other := listen(t, b, Subscription{IDs: true}), listen(t, b, Subscription{}) // 2 ms
		for _, row := range []struct {
			publish uint64
			wait    time.Duration
			want    string
		}{
			{1, 0, "[1]"},
			{2, time.Millisecond, "[]"},
			{3, time.Millisecond, "[2 3]"},
			{4, 2 * time.Millisecond, "[4]"},
			{0, time.Hour, "[]"},
			{5, 0, "[5]"},
		} {
			if row.publish > 0 {
				b.Publish(events(row.publish, row.publish))
			}
			time.Sleep(row.wait)
			synctest.Wait()
			if got := fmt.Sprint(ids(heard(t, l))); got != row.want {
				t.Errorf("after event %d: %s, want %s", row.publish, got, row.want)
			}
			heard(t, other)
		}
		if got, want := b.Stats(), (Stats{Listeners: 2, Published: 5, Delivered: 10}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// Who leaves more than the queue is cut; the others hear everything, and however much comes at once
// is no reason to be cut.
func TestWhoIsBehindIsCut(t *testing.T) {
	size := len(newChunkOf(event(1)).numbered)
	b := New(Config{QueueBytes: 2 * size, PerListener: time.Nanosecond})
	slow, fast := listen(t, b, Subscription{IDs: true}), listen(t, b, Subscription{IDs: true})
	var all []uint64
	publish := func(first, last uint64) {
		b.Publish(events(first, last))
		b.releaseGathered()
		all = append(all, ids(heard(t, fast))...)
	}
	publish(1, 1)
	publish(2, 2)
	publish(3, 3) // the slow one has just two in the list before this one
	if b.Stats().Cut != 0 {
		t.Fatal("cut too early")
	}
	publish(4, 4)
	if !errors.Is(context.Cause(slow.Context()), ErrBehind) || fast.Context().Err() != nil {
		t.Errorf("the slow one ends with %v, the fast one with %v", context.Cause(slow.Context()), fast.Context().Err())
	}
	if got := heard(t, slow); got != ErrBehind.Error() {
		t.Errorf("the slow one hears %q", got)
	}
	if got := b.Stats(); got.Cut != 1 || got.Listeners != 1 {
		t.Errorf("%+v: its place is free at once", got)
	}
	publish(5, 500)
	if len(all) != 500 || all[499] != 500 {
		t.Errorf("the fast one heard %d events", len(all))
	}
	slow.Leave()
	if got := b.Stats(); got.Cut != 1 || got.Listeners != 1 {
		t.Errorf("%+v", got)
	}
}

func newChunkOf(event stream.Event) *chunk {
	c := newChunk()
	c.add(event)
	return c
}

func TestSoManyPlaces(t *testing.T) {
	b := New(Config{MaxListeners: 2})
	first := listen(t, b, Subscription{})
	listen(t, b, Subscription{})
	refused := (*stream.Refused)(nil)
	if _, err := b.Listen(t.Context(), Subscription{}); !errors.As(err, &refused) ||
		refused.ID != stream.TooManyListeners.ID {
		t.Errorf("the third gets %v", err)
	}
	first.Leave()
	first.Leave()
	listen(t, b, Subscription{})
	if got := b.Stats(); got.Refused != 1 || got.Listeners != 2 {
		t.Errorf("%+v", got)
	}
}

// What cannot be sent is left out and counted, and what some clients cannot read is warned of.
func TestEventsThatDoNotFit(t *testing.T) {
	var log bytes.Buffer
	b := New(Config{MaxEventBytes: LongLineBytes + 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	l := listen(t, b, Subscription{IDs: true})
	of := func(id uint64, bytes int) stream.Event {
		return stream.Event{ID: id, JSON: []byte(strings.Repeat("x", bytes))}
	}
	b.Publish([]stream.Event{of(1, 10), of(2, LongLineBytes), of(3, LongLineBytes+1), of(4, LongLineBytes+2),
		{ID: 5, JSON: []byte("{\n}")}, of(6, 1)})
	if got := fmt.Sprint(ids(heard(t, l))); got != "[1 2 3 6]" {
		t.Errorf("heard %s", got)
	}
	if got := b.Stats(); got.Long != 2 || got.Dropped != 2 || got.Published != 6 {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

// An event that was published already, as after a restart of who publishes, is not sent again.
func TestPublishedOnce(t *testing.T) {
	b := New(Config{PerListener: time.Nanosecond})
	l := listen(t, b, Subscription{IDs: true})
	b.Publish(events(1, 3))
	b.Publish(events(2, 4))
	b.Publish(events(1, 4))
	b.releaseGathered()
	if got := fmt.Sprint(ids(heard(t, l))); got != "[1 2 3 4]" {
		t.Errorf("heard %s", got)
	}
}

// What was published before the end is still heard, and the end waits until all have heard it.
func TestCloseWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{PerListener: time.Second})
		l := listen(t, b, Subscription{IDs: true})
		b.Publish(events(1, 1))
		b.Publish(events(2, 2)) // gathers
		closed := make(chan error, 1)
		go func() { closed <- b.Close(t.Context()) }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("closed before the listener left")
		}
		b.Publish(events(3, 3))
		if got := heard(t, l); fmt.Sprint(ids(got)) != "[1 2]" || !strings.HasSuffix(got, io.EOF.Error()) {
			t.Errorf("heard %q", got)
		}
		refused := (*stream.Refused)(nil)
		if _, err := b.Listen(t.Context(), Subscription{}); !errors.As(err, &refused) || refused.ID != stream.NotReady.ID {
			t.Errorf("a listener to a closed broadcast gets %v", err)
		}
		l.Leave()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	b := New(Config{})
	listen(t, b, Subscription{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// An address has its share of the places, which it gets back, and nobody else's.
func TestAddressHasItsShare(t *testing.T) {
	b := New(Config{MaxListeners: 10, MaxPerAddress: 2})
	listen := func(address string) (*Listener, error) { return b.Listen(t.Context(), Subscription{Address: address}) }
	first, err := listen("greedy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen("greedy"); err != nil {
		t.Error(err)
	}
	refused := (*stream.Refused)(nil)
	if _, err := listen("greedy"); !errors.As(err, &refused) || refused.ID != stream.TooManyListeners.ID {
		t.Errorf("the third gets %v", err)
	}
	for range 3 {
		if _, err := listen(""); err != nil { // nobody knows where it comes from
			t.Error(err)
		}
	}
	if _, err := listen("honest"); err != nil {
		t.Error(err)
	}
	first.Leave()
	first.Leave()
	if _, err := listen("greedy"); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	if len(b.addresses) != 3 {
		t.Errorf("%d addresses are remembered", len(b.addresses))
	}
}
