package top

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
)

// ErrBehind is why a listener is cut whose queue was full.
var ErrBehind = errors.New("listener is behind")

// Limits of a Broadcast that are not said.
const (
	defaultListeners = 1000
	defaultPerClient = 20
	defaultQueue     = 256
)

// Broadcast tells listeners of every change of a leading bid, in the order in which Bids showed
// them. A change is encoded once. Nobody waits for a listener: one that does not keep up is cut.
//
//	Bids.Show ─▶ Broadcast ─┬─▶ queue ─▶ listener
//	                    ├─▶ queue ─▶ listener
//	                    └─▶ queue ✂  full: the context of this one ends, the others notice nothing
//
// It is safe for concurrent use. Clock is needed, the limits are not; none may change once the
// broadcast is used.
type Broadcast struct {
	// Clock stamps the changes.
	Clock clock.Clock
	// MaxListeners bounds how many listen at a time: 1000.
	MaxListeners int
	// MaxPerClient bounds those of one client: 20.
	MaxPerClient int
	// Over says whether a slot is over: nobody who comes is told what led there. nil for never. It
	// must not block.
	Over func(slot phase0.Slot) bool
	// Queue is how many records a listener may be behind before it is cut: 256. The tops that it is
	// sent first do not count.
	Queue int

	cut atomic.Uint64

	mu        sync.Mutex // guards what follows
	listeners map[*Listener]struct{}
	strangers int            // of the listeners, those whose client is none of ours
	clients   map[Client]int // and how many each client has
	present   map[relay.Key]*present
	shown     uint64 // how many changes there were
	closed    bool
	left      chan struct{} // closed when the broadcast is closed and nobody listens any more; nil before
}

// present is a bid that leads now.
type present struct {
	number  uint64 // of the change
	records *Records
}

// Client is who listens: a builder that an API key has identified, by name, or an address. Without
// a name nobody knows, and it has no share.
type Client struct {
	Name    string
	Builder bool
}

// Listener is one who follows a Broadcast.
type Listener struct {
	broadcast *Broadcast
	client    Client
	unit      time.Duration
	records   chan []byte
	ctx       context.Context
	end       context.CancelCauseFunc
}

// Records are what the listener is told: first the bids that lead already, in the order in which
// they came to lead, then each change. It is closed, after the last record, when the broadcast is.
// Nobody may change a record.
func (l *Listener) Records() <-chan []byte { return l.records }

// Context ends when the listener leaves, when the context that it came with ends, and when it is
// cut: ErrBehind is the cause then.
func (l *Listener) Context() context.Context { return l.ctx }

// Leave gives the place back. It may be called twice.
func (l *Listener) Leave() {
	l.end(context.Canceled)
	l.broadcast.mu.Lock()
	defer l.broadcast.mu.Unlock()
	l.broadcast.remove(l)
}

// Listen joins, with time stamps in milliseconds or nanoseconds. The caller must Leave, also after
// it was cut. It refuses with relay.TooManyListeners, or relay.NotReady once the broadcast is
// closed. Only builders get the last quarter of the places.
func (f *Broadcast) Listen(ctx context.Context, unit time.Duration, client Client) (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	places, share := cmp.Or(f.MaxListeners, defaultListeners), cmp.Or(f.MaxPerClient, defaultPerClient)
	switch {
	case f.closed:
		return nil, relay.NotReady.Plain()
	case len(f.listeners) >= places || !client.Builder && f.strangers >= places-places/4:
		return nil, relay.TooManyListeners.Plain()
	case client.Name != "" && f.clients[client] >= share:
		return nil, relay.TooManyListeners.With("this client has %d, and may have no more", share)
	}
	present := f.inOrder()
	l := &Listener{broadcast: f, client: client, unit: unit,
		records: make(chan []byte, len(present)+cmp.Or(f.Queue, defaultQueue))}
	l.ctx, l.end = context.WithCancelCause(ctx)
	for _, p := range present {
		l.records <- p.records.In(unit)
	}
	if f.listeners == nil {
		f.listeners, f.clients = map[*Listener]struct{}{}, map[Client]int{}
	}
	f.listeners[l] = struct{}{}
	f.clients[client]++
	if !client.Builder {
		f.strangers++
	}
	return l, nil
}

// inOrder are the bids that lead in auctions that are open, oldest first. The caller holds the
// mutex.
func (f *Broadcast) inOrder() []*present {
	all := make([]*present, 0, len(f.present))
	for key, p := range f.present {
		if f.Over == nil || !f.Over(key.Slot) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *present) int { return cmp.Compare(a.number, b.number) })
	return all
}

// Show tells everybody that a bid leads from now on, nil that none does. It never blocks. Calls for
// one Bids come one after the other.
func (f *Broadcast) Show(key relay.Key, bid *relay.SignedBid) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	records := encode(f.Clock.Now(), key, bid)
	f.shown++
	if bid == nil {
		delete(f.present, key)
	} else {
		if f.present == nil {
			f.present = map[relay.Key]*present{}
		}
		f.present[key] = &present{f.shown, records}
	}
	for l := range f.listeners {
		select {
		case l.records <- records.In(l.unit):
		default:
			f.cut.Add(1)
			l.end(ErrBehind)
			f.remove(l)
		}
	}
}

// Clear forgets all auctions of slots before the given one; nobody is told of it.
func (f *Broadcast) Clear(before phase0.Slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.present {
		if key.Slot < before {
			delete(f.present, key)
		}
	}
}

// Listeners is how many listen now.
func (f *Broadcast) Listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}

// Cut is how many listeners were cut because they were behind.
func (f *Broadcast) Cut() uint64 { return f.cut.Load() }

// Close ends the records of all listeners and waits until they have left, or until the context
// ends. Nobody can listen afterwards.
func (f *Broadcast) Close(ctx context.Context) error {
	select {
	case <-f.close():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *Broadcast) close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed, f.left = true, make(chan struct{})
		for l := range f.listeners {
			close(l.records)
		}
		f.noteEmpty()
	}
	return f.left
}

// remove takes a listener out. The caller holds the mutex.
func (f *Broadcast) remove(l *Listener) {
	if _, here := f.listeners[l]; here {
		delete(f.listeners, l)
		if !l.client.Builder {
			f.strangers--
		}
		if f.clients[l.client]--; f.clients[l.client] == 0 {
			delete(f.clients, l.client)
		}
		f.noteEmpty()
	}
}

// noteEmpty wakes those who wait for the last listener to leave. The caller holds the mutex.
func (f *Broadcast) noteEmpty() {
	if f.closed && len(f.listeners) == 0 {
		close(f.left)
	}
}
