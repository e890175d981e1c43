package serve

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// BodyPool is an amount of memory for the bodies of some requests. Each sender, a client address or
// a builder, has a share of it, so that no sender can take it all.
//
//	bytes ─▶ fit into the room and the share ──────────────────────────────▶ taken
//	     └─▶ wait ─┬─▶ others give theirs back ────────────────────────────▶ taken
//	               └─▶ too long ─┬─▶ who holds more is cut off for them ───▶ taken
//	                             └─▶ nobody does: ErrBusy
//
// A sender's only body may exceed the share; otherwise a small share would exclude large bodies.
// Only bodies that are still being read are cut off: the largest one of the sender that holds most.
// Bodies that operations work on are not. It is safe for concurrent use.
type BodyPool struct {
	bytes, share int64

	mu      sync.Mutex // guards what follows, and the reservations and senders in it
	held    int64
	senders map[string]*sender
	waiting list.List // of *waiter, oldest first
}

// sender is a sender with bodies in a room.
type sender struct {
	name    string
	held    int64
	bodies  int
	waiting int
	coming  map[*reservation]struct{} // bodies that are being read
}

// waiter is a body that waits for bytes. granted is closed when it has them.
type waiter struct {
	of      *reservation
	bytes   int64
	granted chan struct{}
}

// How many bodies may wait in a room, and how many of one sender. A body beyond that does not wait:
// it gets its bytes at once, or none.
const (
	maxWaiting       = 1024
	maxSenderWaiting = 64
)

// NewBodyPool makes a room of so many bytes, of which each sender may hold share.
func NewBodyPool(bytes, share int64) *BodyPool {
	return &BodyPool{bytes: bytes, share: min(share, bytes), senders: map[string]*sender{}}
}

// Held is how many bytes are taken now.
func (r *BodyPool) Held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// enter adds a body, which holds nothing yet. interrupt must end a read of the body that is under
// way.
func (r *BodyPool) enter(name string, interrupt func()) *reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.senders[name]
	if p == nil {
		p = &sender{name: name, coming: map[*reservation]struct{}{}}
		r.senders[name] = p
	}
	e := &reservation{pool: r, sender: p, interrupt: interrupt}
	p.bodies++
	p.coming[e] = struct{}{}
	return e
}

// reservation is what one body holds of a room. The room's mutex guards it.
type reservation struct {
	pool      *BodyPool
	sender    *sender
	held      int64
	cut       bool // the body was cut off: its bytes went to another body
	interrupt func()
}

// take takes bytes, and waits for them if needed. It returns ErrBusy if there are none in time, or
// if the body was cut off.
func (e *reservation) take(ctx context.Context, bytes int64, patience time.Duration) error {
	r := e.pool
	c, err := e.tryTake(bytes)
	if c == nil {
		return err
	}
	patient, stop := context.WithTimeout(ctx, patience)
	defer stop()
	select {
	case <-c.granted:
		return nil
	case <-patient.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-c.granted: // just in time
		return nil
	default:
	}
	r.forget(c)
	if ctx.Err() == nil && r.clear(e, bytes) {
		e.hold(bytes)
		return nil
	}
	return fmt.Errorf("%w: no room for %d bytes within %v", ErrBusy, bytes, patience)
}

// tryTake takes bytes at once, or returns a waiter.
func (e *reservation) tryTake(bytes int64) (*waiter, error) {
	r := e.pool
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.cut:
		return nil, fmt.Errorf("%w: its room was given to another", ErrBusy)
	case r.fits(e, bytes):
		e.hold(bytes)
		return nil, nil
	case r.waiting.Len() < maxWaiting && e.sender.waiting < maxSenderWaiting:
		c := &waiter{e, bytes, make(chan struct{})}
		r.waiting.PushBack(c)
		e.sender.waiting++
		return c, nil
	case r.clear(e, bytes):
		e.hold(bytes)
		return nil, nil
	}
	return nil, fmt.Errorf("%w: too many wait", ErrBusy)
}

// fits says whether a body may have so many bytes more. The caller holds the mutex.
func (r *BodyPool) fits(e *reservation, bytes int64) bool {
	alone := e.sender.held == e.held
	return r.held+bytes <= r.bytes && (alone || e.sender.held+bytes <= r.share)
}

// clear makes room for a body by cutting off bodies of senders that hold more than its own sender
// then would. The caller holds the mutex.
func (r *BodyPool) clear(e *reservation, bytes int64) bool {
	if e.cut || bytes > r.bytes {
		return false
	}
	for !r.fits(e, bytes) {
		richest := r.largestHolder()
		if r.held+bytes <= r.bytes || richest == nil || richest.sender.held <= e.sender.held+bytes {
			return false // its own share is full, or no other sender holds more
		}
		richest.hold(-richest.held)
		richest.cut = true
		delete(richest.sender.coming, richest)
		richest.interrupt()
	}
	return true
}

// largestHolder is the largest body that is still being read, of the sender that holds most. The
// caller holds the mutex.
func (r *BodyPool) largestHolder() (found *reservation) {
	for _, p := range r.senders {
		for e := range p.coming {
			if e.held > 0 && (found == nil || p.held > found.sender.held || p == found.sender && e.held > found.held) {
				found = e
			}
		}
	}
	return found
}

// hold counts bytes that a body takes, or gives back if negative. The caller holds the mutex.
func (e *reservation) hold(bytes int64) {
	e.held += bytes
	e.sender.held += bytes
	e.pool.held += bytes
}

// giveBack returns some of a body's bytes to the room.
func (e *reservation) giveBack(bytes int64) {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	if !e.cut {
		e.hold(-bytes)
		e.pool.grant()
	}
}

// whole records that the body is read and how many bytes it holds now. After that the body can't be
// cut off. It returns false if the body was cut off before.
func (e *reservation) whole(bytes int64) bool {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	delete(e.sender.coming, e)
	if e.cut {
		return false
	}
	e.hold(bytes - e.held)
	e.pool.grant()
	return true
}

// leave removes the body and gives back all its bytes.
func (e *reservation) leave() {
	r := e.pool
	r.mu.Lock()
	defer r.mu.Unlock()
	e.hold(-e.held)
	delete(e.sender.coming, e)
	if e.sender.bodies--; e.sender.bodies == 0 {
		delete(r.senders, e.sender.name)
	}
	r.grant()
}

// whileComing calls do unless the body was cut off, so that do, which sets a deadline of the
// connection, cannot undo the interruption.
func (e *reservation) whileComing(do func()) {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	if !e.cut {
		do()
	}
}

// grant gives free bytes to waiting bodies, oldest first. A body that does not fit does not hold up
// those behind it. The caller holds the mutex.
func (r *BodyPool) grant() {
	for element := r.waiting.Front(); element != nil && r.held < r.bytes; {
		c := element.Value.(*waiter)
		element = element.Next()
		if !c.of.cut && r.fits(c.of, c.bytes) {
			c.of.hold(c.bytes)
			r.forget(c)
			close(c.granted)
		}
	}
}

// forget removes a waiter. The caller holds the mutex.
func (r *BodyPool) forget(c *waiter) {
	for element := r.waiting.Front(); element != nil; element = element.Next() {
		if element.Value == any(c) {
			r.waiting.Remove(element)
			c.of.sender.waiting--
			return
		}
	}
}
