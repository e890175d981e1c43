package top

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
)

func testFeed() *Broadcast { return &Broadcast{Clock: clock.NewStepped(time.Unix(1_700_000_000, 0))} }

// somebody is a builder, each time another.
func somebody() Client { return Client{fmt.Sprint(known.Add(1)), true} }

var known atomic.Int64

func listen(t testing.TB, broadcast *Broadcast) *Listener {
	t.Helper()
	l, err := broadcast.Listen(t.Context(), time.Millisecond, somebody())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Leave)
	return l
}

func inSlot(slot phase0.Slot) relay.Key { return relay.Key{Slot: slot} }

func bidOf(valueWei uint64) *relay.SignedBid {
	return &relay.SignedBid{ValueWei: uint256.NewInt(valueWei)}
}

// told is slot and value of a record.
type told struct{ slot, valueWei uint64 }

func read(record []byte) told {
	return told{binary.LittleEndian.Uint64(record[8:]), binary.LittleEndian.Uint64(record[156:])}
}

// heard is what waits in a listener's queue.
func heard(l *Listener) (all []told) {
	for len(l.records) > 0 {
		all = append(all, read(<-l.records))
	}
	return all
}

func wantTold(t *testing.T, l *Listener, want ...told) {
	t.Helper()
	got := heard(l)
	if len(got) != len(want) {
		t.Fatalf("told %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("told %v, want %v", got, want)
		}
	}
}

// A story of one Bids, as three listeners hear it who come one after the other.
func TestBroadcastTellsWhatLeadsAndWhatChanges(t *testing.T) {
	broadcast := testFeed()
	topBid := &Bids{Broadcast: broadcast}
	early := listen(t, broadcast)
	topBid.Show(inSlot(7), bidOf(10))
	topBid.Show(inSlot(6), bidOf(20))
	topBid.Show(inSlot(7), bidOf(5)) // a cancellation: now the later of the two
	topBid.Show(inSlot(8), nil)      // there was none
	wantTold(t, early, told{7, 10}, told{6, 20}, told{7, 5})

	middle := listen(t, broadcast)
	topBid.Show(inSlot(6), nil)
	wantTold(t, middle, told{6, 20}, told{7, 5}, told{6, 0})
	topBid.Show(inSlot(8), bidOf(1))
	topBid.Clear(8)

	late := listen(t, broadcast)
	wantTold(t, late, told{8, 1})
	wantTold(t, early, told{6, 0}, told{8, 1})
}

// Whoever joins between two changes misses none and hears none twice, and all hear the same order,
// whatever the scheduling.
func TestBroadcastHasNoGaps(t *testing.T) {
	broadcast := testFeed()
	broadcast.Queue, broadcast.MaxListeners = 10_000, 200
	topBid := &Bids{Broadcast: broadcast}
	const writers, changes = 4, 500
	var writing sync.WaitGroup
	for slot := range phase0.Slot(writers) {
		writing.Go(func() {
			for value := range uint64(changes) {
				topBid.Show(inSlot(slot), bidOf(value+1))
			}
		})
	}
	streams := make([][]told, 200)
	var listening sync.WaitGroup
	for i := range streams {
		l := listen(t, broadcast)
		listening.Go(func() {
			for record := range l.Records() {
				streams[i] = append(streams[i], read(record))
			}
			l.Leave()
		})
	}
	writing.Wait()
	if err := broadcast.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	listening.Wait()
	for i, stream := range streams {
		last := map[uint64]uint64{}
		for _, record := range stream {
			if before, known := last[record.slot]; known && record.valueWei != before+1 {
				t.Fatalf("listener %d: slot %d goes from %d to %d", i, record.slot, before, record.valueWei)
			}
			last[record.slot] = record.valueWei
		}
		for slot := range uint64(writers) {
			if last[slot] != changes {
				t.Fatalf("listener %d: slot %d ends at %d", i, slot, last[slot])
			}
		}
		if n := len(stream) - writers; n > 0 && !equalTails(streams[0], stream, min(n, len(streams[0])-writers)) {
			t.Fatalf("listener %d heard another order", i)
		}
	}
}

func equalTails(a, b []told, n int) bool {
	for i := 1; i <= n; i++ {
		if a[len(a)-i] != b[len(b)-i] {
			return false
		}
	}
	return true
}

func TestBroadcastCutsWhoIsBehind(t *testing.T) {
	broadcast := testFeed()
	broadcast.Queue = 2
	slow, fast := listen(t, broadcast), listen(t, broadcast)
	for value := range uint64(4) {
		broadcast.Show(inSlot(7), bidOf(value))
		wantTold(t, fast, told{7, value})
	}
	if !errors.Is(context.Cause(slow.Context()), ErrBehind) || fast.Context().Err() != nil {
		t.Errorf("the slow one ends with %v, the fast one with %v", context.Cause(slow.Context()), fast.Context().Err())
	}
	wantTold(t, slow, told{7, 0}, told{7, 1})
	if broadcast.Cut() != 1 || broadcast.Listeners() != 1 {
		t.Errorf("%d cut, %d listen", broadcast.Cut(), broadcast.Listeners())
	}
	slow.Leave()
}

// However many bids lead, to be told of them first is no reason to be cut.
func TestBroadcastQueueHoldsWhatLeads(t *testing.T) {
	broadcast := testFeed()
	broadcast.Queue = 1
	for slot := range phase0.Slot(9) {
		broadcast.Show(inSlot(slot), bidOf(1))
	}
	l := listen(t, broadcast)
	broadcast.Show(inSlot(9), bidOf(1))
	if got := heard(l); len(got) != 10 || broadcast.Cut() != 0 {
		t.Errorf("told %v", got)
	}
}

func TestBroadcastHasSoManyPlaces(t *testing.T) {
	broadcast := testFeed()
	broadcast.MaxListeners = 2
	first, _ := listen(t, broadcast), listen(t, broadcast)
	refused := (*relay.Refused)(nil)
	if _, err := broadcast.Listen(t.Context(), time.Millisecond, somebody()); !errors.As(err, &refused) ||
		refused.ID != relay.TooManyListeners.ID {
		t.Errorf("the third gets %v", err)
	}
	first.Leave()
	first.Leave()
	listen(t, broadcast)
}

// A client has its share, which nobody else can take, and strangers leave a quarter of the places
// to builders.
func TestBroadcastPlacesAreShared(t *testing.T) {
	broadcast := testFeed()
	broadcast.MaxListeners, broadcast.MaxPerClient = 8, 2
	stranger := func(name string) error {
		_, err := broadcast.Listen(t.Context(), time.Millisecond, Client{Name: name})
		return err
	}
	refused := (*relay.Refused)(nil)
	for _, row := range []struct {
		name string
		in   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", true}, {"c", true}, {"c", true}, {"d", false}} {
		if err := stranger(row.name); row.in != (err == nil) || err != nil &&
			(!errors.As(err, &refused) || refused.ID != relay.TooManyListeners.ID) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	alpha := Client{"alpha", true}
	first, err := broadcast.Listen(t.Context(), time.Millisecond, alpha)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broadcast.Listen(t.Context(), time.Millisecond, alpha); err != nil {
		t.Error(err)
	}
	first.Leave()
	first.Leave()
	if len(broadcast.clients) != 4 || broadcast.clients[alpha] != 1 || broadcast.strangers != 6 {
		t.Errorf("clients %v, %d strangers", broadcast.clients, broadcast.strangers)
	}
}

// Who comes is told nothing of auctions that are over; whoever listened already heard it when it
// happened.
func TestBroadcastBeginsWithWhatIsOpen(t *testing.T) {
	broadcast := testFeed()
	over := phase0.Slot(6)
	broadcast.Over = func(slot phase0.Slot) bool { return slot <= over }
	for slot := range phase0.Slot(9) {
		broadcast.Show(inSlot(slot), bidOf(1))
	}
	wantTold(t, listen(t, broadcast), told{7, 1}, told{8, 1})
}

// What was said before the end is still heard, and the end waits until all have heard it.
func TestBroadcastCloseWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broadcast := testFeed()
		l, err := broadcast.Listen(t.Context(), time.Millisecond, somebody())
		if err != nil {
			t.Fatal(err)
		}
		broadcast.Show(inSlot(7), bidOf(1))
		closed := make(chan error, 1)
		go func() { closed <- broadcast.Close(t.Context()) }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("closed before the listener left")
		}
		broadcast.Show(inSlot(7), bidOf(2)) // nobody hears it
		if got := read(<-l.Records()); got != (told{7, 1}) {
			t.Errorf("told %v", got)
		}
		if _, open := <-l.Records(); open {
			t.Error("the records go on")
		}
		refused := (*relay.Refused)(nil)
		if _, err := broadcast.Listen(t.Context(), time.Millisecond, somebody()); !errors.As(err, &refused) ||
			refused.ID != relay.NotReady.ID {
			t.Errorf("a listener to a closed broadcast gets %v", err)
		}
		l.Leave()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := broadcast.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBroadcastCloseDoesNotWaitForever(t *testing.T) {
	broadcast := testFeed()
	listen(t, broadcast)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := broadcast.Close(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Encoded once: all listeners of a unit are handed the same bytes.
func TestBroadcastEncodesOnce(t *testing.T) {
	broadcast := testFeed()
	a, b := listen(t, broadcast), listen(t, broadcast)
	ns, err := broadcast.Listen(t.Context(), time.Nanosecond, somebody())
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Leave()
	broadcast.Show(inSlot(7), bidOf(1))
	one, other, nanos := <-a.Records(), <-b.Records(), <-ns.Records()
	if &one[0] != &other[0] || bytes.Equal(one[:8], nanos[:8]) || !bytes.Equal(one[8:], nanos[8:]) {
		t.Errorf("records %x, %x and %x", one, other, nanos)
	}
}

// What one change costs with 200 listeners, all of whom take it out of their queues.
func BenchmarkBroadcastShow(b *testing.B) {
	broadcast := testFeed()
	var listeners []*Listener
	for range 200 {
		listeners = append(listeners, listen(b, broadcast))
	}
	bid := bidOf(1)
	for b.Loop() {
		broadcast.Show(inSlot(7), bid)
		for _, l := range listeners {
			<-l.records
		}
	}
	b.ReportMetric(float64(broadcast.Cut()), "cut")
}
