package broadcast

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/gavel-relay/gavel/stream"
)

// Subscription is what a listener wants.
type Subscription struct {
	// IDs: it wants an id before every event.
	IDs bool
	// Resume: it first wants the events after the one with the id After. It has no effect without
	// IDs.
	Resume bool
	After  uint64
	// Address is the key of the listener's address, for MaxPerAddress; empty if unknown, which has
	// no bound.
	Address string
}

// Listener is one listener. Ready and Take are for one goroutine.
type Listener struct {
	broadcast *Broadcast
	address   string
	numbered  bool
	ctx       context.Context
	end       context.CancelCauseFunc

	// at is the chunk that was taken last. It is nil before the listener joins the others, and
	// after it was cut.
	at atomic.Pointer[chunk]
	// past reads the history; nil when that is done. sent is the id of the last event that it read,
	// which must not be sent again.
	past *reader
	sent uint64
}

// Listen adds a listener. The caller must Leave, also after the listener was cut. Listen refuses
// with stream.TooManyListeners, and with stream.NotReady if the broadcast is closed or the history
// cannot be read (the error then wraps ErrHistory and the cause, too).
func (b *Broadcast) Listen(ctx context.Context, what Subscription) (*Listener, error) {
	l := &Listener{broadcast: b, address: what.Address, numbered: what.IDs}
	l.ctx, l.end = context.WithCancelCause(ctx)
	if err := b.admit(l); err != nil {
		l.end(err)
		return nil, err
	}
	if !what.IDs || !what.Resume || b.config.History == nil {
		b.join(l)
		return l, nil
	}
	b.resumed.Add(1)
	if b.aheadOf(what.After) && b.config.Newest != nil && what.After <= b.config.Newest(ctx) {
		l.sent = what.After
	}
	l.past = newReader(what.After)
	if err := l.past.turn(l); err != nil {
		l.Leave()
		return nil, err
	}
	return l, nil
}

// aheadOf says whether an id is above those of all events that were published here.
func (b *Broadcast) aheadOf(id uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return id > b.newest
}

// admit gives a listener a place, or refuses it.
func (b *Broadcast) admit(l *Listener) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return stream.NotReady.Plain()
	case len(b.listeners) >= b.config.MaxListeners:
		b.refused.Add(1)
		return stream.TooManyListeners.Plain()
	case l.address != "" && b.addresses[l.address] >= b.config.MaxPerAddress:
		b.refused.Add(1)
		return stream.TooManyListeners.With("this address has %d, and may have no more", b.config.MaxPerAddress)
	}
	b.listeners[l] = struct{}{}
	b.addresses[l.address]++
	return nil
}

// join puts a listener at the end of the list. It returns the id of the last event before; 0 if
// there was none since the start.
func (b *Broadcast) join(l *Listener) (released uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.at.Store(b.tail)
	return b.released
}

// Context ends when the listener leaves, when the context of Listen ends, and when the listener is
// cut, with the cause ErrBehind.
func (l *Listener) Context() context.Context { return l.ctx }

// Leave gives the place back. It may be called again.
func (l *Listener) Leave() {
	l.end(context.Canceled)
	l.broadcast.mu.Lock()
	defer l.broadcast.mu.Unlock()
	l.broadcast.remove(l)
}

// always is a closed channel.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Ready is closed when Take has events or an error.
func (l *Listener) Ready() <-chan struct{} {
	if at := l.at.Load(); l.past == nil && at != nil {
		return at.ready
	}
	return always
}

// Take returns the next events, in their form on the wire. The caller must not change the bytes.
// They may be empty, although Ready was closed. Errors: io.EOF after the last event of a closed
// broadcast, ErrBehind, the context's cause, and stream.NotReady with ErrHistory.
func (l *Listener) Take() ([]byte, error) {
	if l.past != nil {
		return l.past.take(l)
	}
	at := l.at.Load()
	if at == nil {
		return nil, ErrBehind
	}
	select {
	case <-at.ready:
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
	next := at.next
	switch {
	case next == nil:
		return nil, io.EOF
	case !l.at.CompareAndSwap(at, next):
		return nil, ErrBehind
	}
	return l.wanted(next), nil
}

// wanted is the part of a chunk that the listener has not got yet.
func (l *Listener) wanted(c *chunk) []byte {
	frames, events := c.plain, c.events()
	if l.numbered {
		frames, events = c.after(l.sent)
	}
	l.broadcast.delivered.Add(uint64(events))
	return frames
}
