package broadcast

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/stream"
)

// History is what was streamed before. It is asked by listeners that resume.
type History interface {
	// After is up to limit events whose ids are greater than the given one, ascending without gaps;
	// fewer only when there are no more. An event is here before it is published.
	After(ctx context.Context, id uint64, limit int) ([]stream.Event, error)
}

// ErrBehind is why a listener is cut that has not taken what it should have.
var ErrBehind = errors.New("listener is behind")

// ErrHistory is why a listener cannot resume: the history does not answer.
var ErrHistory = errors.New("read the history")

// Config says how a broadcast behaves. Zero values take the defaults that are named.
type Config struct {
	// History lets listeners resume; without one they hear only what comes.
	History History
	// MaxListeners bounds how many listen at a time: 10,000.
	MaxListeners int
	// MaxPerAddress bounds those who come from one address, if it is known: 100.
	MaxPerAddress int
	// QueueBytes is how far a listener may be behind before it is cut: 4 MiB. All listeners together
	// hold no more than that, since they share it.
	QueueBytes int
	// PerListener is how long events gather for each listener there is: 20 µs, 250 ms for all at most.
	// It bounds what writing costs: listeners are woken no more than 50,000 times a second in all,
	// however many there are.
	PerListener time.Duration
	// MaxEventBytes bounds the JSON of an event; a longer one is not sent, but counted. 0 for no
	// bound.
	MaxEventBytes int
	Log           *slog.Logger
}

// Limits that are not configured.
const (
	maxGather = 250 * time.Millisecond
	// pageEvents is how much of the past is read, and held, at a time for a listener, and reads how
	// many read at once.
	pageEvents = 100
	reads      = 4
	// recentEvents is how many events are remembered for who wants to see something at once.
	recentEvents = 25
)

// Broadcast are those who listen now. It is safe for concurrent use.
type Broadcast struct {
	config  Config
	reading chan struct{} // has a place for everyone who reads the past

	published, delivered, refused, cut, resumed, long, dropped atomic.Uint64

	mu        sync.Mutex // guards what follows
	listeners map[*Listener]struct{}
	addresses map[string]int // how many listen from each
	tail      *chunk         // the last of the list, where those wait who have taken everything
	pending   *chunk         // gathers; nil when there is nothing
	gathering bool           // a timer will release what is pending
	newest    uint64         // id of the last event that was taken for publishing
	released  uint64         // id of the last event in the list
	recent    []stream.Event
	closed    bool
	left      chan struct{} // closed when the broadcast is closed and nobody listens any more; nil before
}

// New makes an empty broadcast.
func New(config Config) *Broadcast {
	config.MaxListeners = cmp.Or(config.MaxListeners, 10_000)
	config.MaxPerAddress = cmp.Or(config.MaxPerAddress, 100)
	config.QueueBytes = cmp.Or(config.QueueBytes, 4<<20)
	config.PerListener = cmp.Or(config.PerListener, 20*time.Microsecond)
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	return &Broadcast{config: config, reading: make(chan struct{}, reads), listeners: map[*Listener]struct{}{},
		addresses: map[string]int{}, tail: newChunk()}
}

// Publish sends events to everybody who listens. Their ids ascend, also from call to call; an event
// that is not newer than those before was sent already and is left out. It waits for no listener.
func (b *Broadcast) Publish(events []stream.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, event := range events {
		if event.ID <= b.newest {
			continue
		}
		b.newest = event.ID
		if !b.fit(event) {
			continue
		}
		b.remember(event)
		if b.pending == nil {
			b.pending = newChunk()
		}
		b.pending.add(event)
	}
	if !b.gathering {
		b.release()
	}
}

// fit says whether an event can be sent, and counts those that cannot, or hardly. The caller holds
// the mutex.
func (b *Broadcast) fit(event stream.Event) bool {
	b.published.Add(1)
	if len(event.JSON) > LongLineBytes {
		b.long.Add(1)
		b.config.Log.Warn("event is long: some clients lose lines above 64 KiB", "event", event.ID, "bytes", len(event.JSON))
	}
	if err := check(event, b.config.MaxEventBytes); err != nil {
		b.dropped.Add(1)
		b.config.Log.Error("event is not streamed", "event", event.ID, "error", err)
		return false
	}
	return true
}

// remember keeps an event for Recent. The caller holds the mutex.
func (b *Broadcast) remember(event stream.Event) {
	if len(b.recent) == recentEvents {
		b.recent = slices.Delete(b.recent, 0, 1)
	}
	b.recent = append(b.recent, event)
}

// Recent are the last 25 events since the start, or fewer, oldest first.
func (b *Broadcast) Recent() []stream.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.recent)
}

// release puts what is pending at the end of the list, wakes those who wait, and lets the next
// events gather. The caller holds the mutex.
func (b *Broadcast) release() {
	b.gathering = false
	if b.pending == nil {
		return
	}
	b.cutBehind()
	last, next := b.tail, b.pending
	next.total = last.total + uint64(len(next.numbered))
	b.tail, b.pending, b.released = next, nil, next.ids[len(next.ids)-1]
	last.next = next
	close(last.ready)

	if gap := min(b.config.PerListener*time.Duration(len(b.listeners)), maxGather); gap > 0 {
		b.gathering = true
		time.AfterFunc(gap, b.gathered)
	}
}

// gathered ends a time of gathering.
func (b *Broadcast) gathered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.release()
	}
}

// cutBehind ends the listeners that left too much in the list; what is only about to be added to
// it, however large, is no reason. The caller holds the mutex.
func (b *Broadcast) cutBehind() {
	for l := range b.listeners {
		at := l.at.Load()
		if at == nil || b.tail.total-at.total <= uint64(b.config.QueueBytes) {
			continue
		}
		b.cut.Add(1)
		l.at.Store(nil) // else it would hold what it will never take
		l.end(ErrBehind)
		b.remove(l)
	}
}

// remove takes a listener out. The caller holds the mutex.
func (b *Broadcast) remove(l *Listener) {
	if _, here := b.listeners[l]; here {
		delete(b.listeners, l)
		if b.addresses[l.address]--; b.addresses[l.address] == 0 {
			delete(b.addresses, l.address)
		}
		b.noteEmpty()
	}
}

// noteEmpty wakes those who wait for the last listener to leave. The caller holds the mutex.
func (b *Broadcast) noteEmpty() {
	if b.closed && len(b.listeners) == 0 {
		close(b.left)
	}
}

// Close sends what is pending, ends all listeners after it, and waits until they have left, or
// until the context ends. Nobody can listen, and nothing is published, afterwards.
func (b *Broadcast) Close(ctx context.Context) error {
	select {
	case <-b.close():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Broadcast) close() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.release()
		b.closed, b.left = true, make(chan struct{})
		close(b.tail.ready) // with nothing behind it
		b.noteEmpty()
	}
	return b.left
}
