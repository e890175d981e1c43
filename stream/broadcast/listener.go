package broadcast

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/gavel-relay/gavel/stream"
)

// Subscription is what somebody wants to hear.
type Subscription struct {
	// IDs wants the id before every event.
	IDs bool
	// Resume wants first what followed the event After; it needs IDs.
	Resume bool
	After  uint64
	// Address is what stands for where the listener comes from; empty if nobody knows, and then it has
	// no share.
	Address string
}

// Listener is one who listens. Ready and Take are for one goroutine.
type Listener struct {
	broadcast *Broadcast
	address   string
	numbered  bool
	ctx       context.Context
	end       context.CancelCauseFunc

	// at is the chunk that was taken last. nil before the listener joins the others, and once it is
	// cut.
	at atomic.Pointer[chunk]
	// past is where it is in the past; nil when it is through. sent is the last event that it need not
	// be told again.
	past *reader
	sent uint64
}

// Listen joins. The caller must Leave, also after it was cut. It refuses with
// stream.TooManyListeners, or stream.NotReady when the broadcast is closed or, with ErrHistory and
// its cause, the past cannot be read.
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
	l.past = newReader(what.After)
	if err := l.past.turn(l); err != nil {
		l.Leave()
		return nil, err
	}
	return l, nil
}

// admit gives a place.
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

// join puts a listener at the end of the list. It tells the last event before, 0 if there was none
// since the start.
func (b *Broadcast) join(l *Listener) (released uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.at.Store(b.tail)
	return b.released
}

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

// always is ready.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Ready is closed when there is something to take, or to learn from Take.
func (l *Listener) Ready() <-chan struct{} {
	if at := l.at.Load(); l.past == nil && at != nil {
		return at.ready
	}
	return always
}

// Take is what comes next, in the bytes of the wire; nobody may change them. There may be none,
// although it was ready. Errors: io.EOF after the last event of a broadcast that was closed,
// ErrBehind, the context's, and stream.NotReady with ErrHistory.
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

// wanted is what of a chunk the listener has not had.
func (l *Listener) wanted(c *chunk) []byte {
	frames, events := c.plain, c.events()
	if l.numbered {
		frames, events = c.after(l.sent)
	}
	l.broadcast.delivered.Add(uint64(events))
	return frames
}
