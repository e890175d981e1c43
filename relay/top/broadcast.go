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

// ErrBehind is the cause when a listener is cut because its queue was full.
var ErrBehind = errors.New("listener is behind")

// Limits of a Broadcast that sets none.
const (
	defaultListeners = 1000
	defaultPerClient = 20
	defaultQueue     = 256
)

// Broadcast sends every change of a top bid to all listeners, in the order in which Bids showed
// them. A change is encoded once. Broadcast does not wait for listeners: one that does not keep up
// is cut.
//
//	Bids.Show ─▶ Broadcast ─┬─▶ queue ─▶ listener
//	                        ├─▶ queue ─▶ listener
//	                        └─▶ queue ✂  full: the context of this one ends, the others notice nothing
//
// It is safe for concurrent use. Clock is needed, the limits are not; none may change once the
// broadcast is used.
type Broadcast struct {
	// Clock stamps the changes.
	Clock clock.Clock
	// MaxListeners is how many may listen at a time; 0 means 1000.
	MaxListeners int
	// MaxPerClient is how many of them may be of one client; 0 means 20.
	MaxPerClient int
	// Over says whether a slot is over. A new listener is not sent the tops of such slots. nil means
	// never. It must not block.
	Over func(slot phase0.Slot) bool
	// Queue is how many records a listener may be behind before it is cut; 0 means 256. The tops that
	// a new listener is sent first do not count.
	Queue int

	cut atomic.Uint64

	mu        sync.Mutex // guards what follows
	listeners map[*Listener]struct{}
	strangers int            // how many listeners are of clients that are no builders
	clients   map[Client]int // how many listeners each client has
	present   map[relay.Key]*present
	shown     uint64 // the number of the last change
	closed    bool
	left      chan struct{} // nil until Close; closed when the last listener has left after that
}

// present is a bid that leads now.
type present struct {
	number  uint64 // of the change
	records *Updates
}

// Client is whom a listener belongs to: a builder that an API key has identified, by its name, or
// an address. An empty name means that the client is not known; then MaxPerClient does not apply.
type Client struct {
	Name    string
	Builder bool
}

// Listener is one connection that receives the records of a Broadcast.
type Listener struct {
	broadcast *Broadcast
	client    Client
	unit      time.Duration
	records   chan []byte
	ctx       context.Context
	end       context.CancelCauseFunc
}

// Records returns the records for the listener: first the bids that lead already, in the order in
// which they began to lead, then each change. The channel is closed, after its last record, when
// the broadcast is. A record must not be changed.
func (l *Listener) Records() <-chan []byte { return l.records }

// Context ends when the listener leaves, when the context given to Listen ends, and when the
// listener is cut; then the cause is ErrBehind.
func (l *Listener) Context() context.Context { return l.ctx }

// Leave removes the listener. It may be called more than once.
func (l *Listener) Leave() {
	l.end(context.Canceled)
	l.broadcast.mu.Lock()
	defer l.broadcast.mu.Unlock()
	l.broadcast.remove(l)
}

// Listen adds a listener, whose records have time stamps in milliseconds or nanoseconds. The caller
// must call Leave, even after the listener was cut. Errors are relay.TooManyListeners, and
// relay.NotReady once the broadcast is closed. The last quarter of the places is for builders only.
func (f *Broadcast) Listen(ctx context.Context, unit time.Duration, client Client) (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit, share := cmp.Or(f.MaxListeners, defaultListeners), cmp.Or(f.MaxPerClient, defaultPerClient)
	switch {
	case f.closed:
		return nil, relay.NotReady.Plain()
	case len(f.listeners) >= limit || !client.Builder && f.strangers >= limit-limit/4:
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

// inOrder returns the bids that lead in slots that are not over, the oldest first. The caller holds
// the mutex.
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

// Show sends to all listeners that a bid leads from now on; nil means that none does. It never
// blocks. Bids makes one call after the other.
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

// Clear forgets all auctions of slots before the given one, without a record to the listeners.
func (f *Broadcast) Clear(before phase0.Slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.present {
		if key.Slot < before {
			delete(f.present, key)
		}
	}
}

// Listeners returns how many listeners there are now.
func (f *Broadcast) Listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}

// Cut returns how many listeners were cut because they were behind.
func (f *Broadcast) Cut() uint64 { return f.cut.Load() }

// Close closes the records of all listeners and waits until they have left, or until the context
// ends. Listen refuses from then on.
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

// noteEmpty wakes Close when the last listener has left. The caller holds the mutex.
func (f *Broadcast) noteEmpty() {
	if f.closed && len(f.listeners) == 0 {
		close(f.left)
	}
}
