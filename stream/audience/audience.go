package audience

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

// Past is what was streamed before. It is asked by listeners that resume.
type Past interface {
	// After is up to limit events whose ids are greater than the given one, ascending without gaps;
	// fewer only when there are no more. An event is here before it is published.
	After(ctx context.Context, id uint64, limit int) ([]stream.Event, error)
}

// ErrBehind is why a listener is cut that has not taken what it should have.
var ErrBehind = errors.New("listener is behind")

// ErrPast is why a listener cannot resume: the history does not answer.
var ErrPast = errors.New("read the history")

// Config says how an audience behaves. Zero values take the defaults that are named.
type Config struct {
	// Past lets listeners resume; without one they hear only what comes.
	Past Past
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

// Audience are those who listen now. It is safe for concurrent use.
type Audience struct {
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
	left      chan struct{} // closed when the audience is closed and nobody listens any more; nil before
}

// New makes an empty audience.
func New(config Config) *Audience {
	config.MaxListeners = cmp.Or(config.MaxListeners, 10_000)
	config.MaxPerAddress = cmp.Or(config.MaxPerAddress, 100)
	config.QueueBytes = cmp.Or(config.QueueBytes, 4<<20)
	config.PerListener = cmp.Or(config.PerListener, 20*time.Microsecond)
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	return &Audience{config: config, reading: make(chan struct{}, reads), listeners: map[*Listener]struct{}{},
		addresses: map[string]int{}, tail: newChunk()}
}

// Publish sends events to everybody who listens. Their ids ascend, also from call to call; an event
// that is not newer than those before was sent already and is left out. It waits for no listener.
func (a *Audience) Publish(events []stream.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	for _, event := range events {
		if event.ID <= a.newest {
			continue
		}
		a.newest = event.ID
		if !a.fit(event) {
			continue
		}
		a.remember(event)
		if a.pending == nil {
			a.pending = newChunk()
		}
		a.pending.add(event)
	}
	if !a.gathering {
		a.release()
	}
}

// fit says whether an event can be sent, and counts those that cannot, or hardly. The caller holds
// the mutex.
func (a *Audience) fit(event stream.Event) bool {
	a.published.Add(1)
	if len(event.JSON) > LongLineBytes {
		a.long.Add(1)
		a.config.Log.Warn("event is long: some clients lose lines above 64 KiB", "event", event.ID, "bytes", len(event.JSON))
	}
	if err := check(event, a.config.MaxEventBytes); err != nil {
		a.dropped.Add(1)
		a.config.Log.Error("event is not streamed", "event", event.ID, "error", err)
		return false
	}
	return true
}

// remember keeps an event for Recent. The caller holds the mutex.
func (a *Audience) remember(event stream.Event) {
	if len(a.recent) == recentEvents {
		a.recent = slices.Delete(a.recent, 0, 1)
	}
	a.recent = append(a.recent, event)
}

// Recent are the last 25 events since the start, or fewer, oldest first.
func (a *Audience) Recent() []stream.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recent)
}

// release puts what is pending at the end of the list, wakes those who wait, and lets the next
// events gather. The caller holds the mutex.
func (a *Audience) release() {
	a.gathering = false
	if a.pending == nil {
		return
	}
	a.cutBehind()
	last, next := a.tail, a.pending
	next.total = last.total + uint64(len(next.numbered))
	a.tail, a.pending, a.released = next, nil, next.ids[len(next.ids)-1]
	last.next = next
	close(last.ready)

	if gap := min(a.config.PerListener*time.Duration(len(a.listeners)), maxGather); gap > 0 {
		a.gathering = true
		time.AfterFunc(gap, a.gathered)
	}
}

// gathered ends a time of gathering.
func (a *Audience) gathered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.release()
	}
}

// cutBehind ends the listeners that left too much in the list; what is only about to be added to
// it, however large, is no reason. The caller holds the mutex.
func (a *Audience) cutBehind() {
	for l := range a.listeners {
		at := l.at.Load()
		if at == nil || a.tail.total-at.total <= uint64(a.config.QueueBytes) {
			continue
		}
		a.cut.Add(1)
		l.at.Store(nil) // else it would hold what it will never take
		l.end(ErrBehind)
		a.remove(l)
	}
}

// remove takes a listener out. The caller holds the mutex.
func (a *Audience) remove(l *Listener) {
	if _, here := a.listeners[l]; here {
		delete(a.listeners, l)
		if a.addresses[l.address]--; a.addresses[l.address] == 0 {
			delete(a.addresses, l.address)
		}
		a.noteEmpty()
	}
}

// noteEmpty wakes those who wait for the last listener to leave. The caller holds the mutex.
func (a *Audience) noteEmpty() {
	if a.closed && len(a.listeners) == 0 {
		close(a.left)
	}
}

// Close sends what is pending, ends all listeners after it, and waits until they have left, or
// until the context ends. Nobody can listen, and nothing is published, afterwards.
func (a *Audience) Close(ctx context.Context) error {
	select {
	case <-a.close():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Audience) close() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.release()
		a.closed, a.left = true, make(chan struct{})
		close(a.tail.ready) // with nothing behind it
		a.noteEmpty()
	}
	return a.left
}
