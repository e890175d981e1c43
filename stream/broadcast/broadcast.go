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

// History has what was streamed before, for listeners that resume.
type History interface {
	// After returns up to limit events with ids above the given one, ascending and without gaps. It
	// returns fewer only if there are no more. An event must be in the history before it is
	// published.
	After(ctx context.Context, id uint64, limit int) ([]stream.Event, error)
}

// ErrHistory is why a listener cannot resume: the history cannot be read.
var ErrHistory = errors.New("read the history")

// Config configures a broadcast. Zero values stand for the defaults named here.
type Config struct {
	// History lets listeners resume. Without it they get new events only.
	History History
	// Newest, if set, returns the highest id that an event can have by now, at any instance of the
	// service; 0 if that is not known. A listener that had an event up to it comes from an instance
	// that is ahead of this one, and gets only what comes behind that event.
	Newest func(context.Context) uint64
	// MaxListeners is how many may listen at a time; 0 is 10,000.
	MaxListeners int
	// MaxPerAddress is how many may listen from one address, if that is known; 0 is 100.
	MaxPerAddress int
	// QueueBytes is how far a listener may be behind before it is cut; 0 is 4 MiB. The listeners
	// share the queue's memory, so all together hold no more than that.
	QueueBytes int
	// PerListener is how long events gather before the next write, for each listener; 0 is 20 µs.
	// In all it is at most 250 ms. It bounds the cost of writing: with the default, listeners are
	// woken at most 50,000 times a second in all.
	PerListener time.Duration
	// MaxEventBytes bounds the JSON of an event. A longer event is counted and not sent. 0 is no
	// bound.
	MaxEventBytes int
	Log           *slog.Logger
}

// Limits that can't be configured.
const (
	maxGather = 250 * time.Millisecond
	// pageEvents is how many past events are read and held at a time for a listener. reads is how
	// many listeners read at once.
	pageEvents = 100
	reads      = 4
	// recentEvents is how many events are kept for Recent.
	recentEvents = 25
)

// Broadcast sends events to its listeners. It is safe for concurrent use.
type Broadcast struct {
	config  Config
	reading chan struct{} // holds a token for each listener that reads the history

	published, delivered, refused, cut, resumed, long, dropped atomic.Uint64

	mu        sync.Mutex // guards what follows
	listeners map[*Listener]struct{}
	addresses map[string]int // number of listeners from each
	tail      *chunk         // the end of the list, where listeners wait that have taken everything
	pending   *chunk         // events that gather; nil if there are none
	gathering bool           // a timer will release pending
	newest    uint64         // id of the last event that was given to Publish
	released  uint64         // id of the last event in the list
	recent    []stream.Event
	closed    bool
	left      chan struct{} // made by Close; closed when there are no listeners any more
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

// Publish sends events to all listeners, and waits for none of them. Ids ascend, also from call to
// call: an event whose id is not above all earlier ones was sent before, and is left out.
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

// fit says whether an event can be sent. It counts all events, and those that are too long or long.
// The caller holds the mutex.
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

// Recent are the last events since the start, at most 25, oldest first.
func (b *Broadcast) Recent() []stream.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.recent)
}

// release appends pending to the list, wakes the waiting listeners, and lets the next events
// gather. The caller holds the mutex.
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
		time.AfterFunc(gap, b.releaseGathered)
	}
}

// releaseGathered releases the events that have gathered.
func (b *Broadcast) releaseGathered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.release()
	}
}

// remove removes a listener. The caller holds the mutex.
func (b *Broadcast) remove(l *Listener) {
	if _, here := b.listeners[l]; here {
		delete(b.listeners, l)
		if b.addresses[l.address]--; b.addresses[l.address] == 0 {
			delete(b.addresses, l.address)
		}
		b.noteEmpty()
	}
}

// noteEmpty wakes Close when the last listener has left. The caller holds the mutex.
func (b *Broadcast) noteEmpty() {
	if b.closed && len(b.listeners) == 0 {
		close(b.left)
	}
}

// Close sends pending events, ends all listeners after these, and waits until they have left or the
// context ends. Afterwards nothing is published and Listen refuses.
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
		close(b.tail.ready) // and next stays nil: the end
		b.noteEmpty()
	}
	return b.left
}
