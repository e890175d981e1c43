package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// BodyBudget bounds the bytes of request bodies that a process holds at once, whoever sends them and in whatever encoding. Every body begins
// in the first part, up to 2 MiB; for that it waits its turn. What goes beyond is in the second part, as it comes; for that nobody waits, so
// that no two bodies can wait for each other. When the second part is full, one body at a time may go on in the last part, so that a crowd of
// large bodies cannot starve itself: one of them always gets through.
//
//	body ─▶ first 2 MiB, waits ──▶ beyond, at once ──▶ last, one at a time ──▶ operation ──▶ all is given back
//	              └─ too long: ErrBusy                        └─ taken: ErrBusy
//
// What an operation makes of a body is not counted. It is safe for concurrent use.
type BodyBudget struct {
	first, beyond *semaphore.Weighted
	last          atomic.Bool // somebody is there
	wait          time.Duration
	held          atomic.Int64
}

// lastBytes are enough for a body of 21 MiB, while its buffer doubles.
const lastBytes = 32 << 20

// NewBodyBudget divides so many bytes, at least 64 MiB, and lets a body wait that long for its turn.
func NewBodyBudget(bytes int64, wait time.Duration) *BodyBudget {
	part := (max(bytes, 2*lastBytes) - lastBytes) / 2
	return &BodyBudget{first: semaphore.NewWeighted(part), beyond: semaphore.NewWeighted(part), wait: wait}
}

// Held is how many bytes are spent at the moment.
func (b *BodyBudget) Held() int64 { return b.held.Load() }

// Wrap makes the budget known to ReadBody, and takes back when an operation is done what its body has cost. A nil budget bounds nothing.
func (b *BodyBudget) Wrap(next http.Handler) http.Handler {
	if b == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		spent := &expense{budget: b}
		defer spent.giveBack()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), expenseKey{}, spent)))
	})
}

type expenseKey struct{}

// expense is what one request's body has cost so far. It is the request's own; a nil one is free.
type expense struct {
	budget *BodyBudget
	first  int64
	// now and old are the bytes of the buffer beyond the first cost, and of the one that is being copied from.
	now, old part
	last     bool // it is its turn in the last part
}

// part is a number of bytes in the second part of the budget, or in the last.
type part struct {
	bytes int64
	last  bool
}

func expenseOf(r *http.Request) *expense {
	spent, _ := r.Context().Value(expenseKey{}).(*expense)
	return spent
}

// begin waits for the first bytes of a body.
func (e *expense) begin(ctx context.Context, bytes int64) error {
	if e == nil {
		return nil
	}
	if !e.budget.first.TryAcquire(bytes) {
		ctx, cancel := context.WithTimeout(ctx, e.budget.wait)
		defer cancel()
		if err := e.budget.first.Acquire(ctx, bytes); err != nil {
			return fmt.Errorf("%w: no turn within %v", ErrBusy, e.budget.wait)
		}
	}
	e.first += bytes
	e.budget.held.Add(bytes)
	return nil
}

// grow takes at once the bytes of a larger buffer, or none. The old one's are kept until settle.
func (e *expense) grow(bytes int64) error {
	if e == nil {
		return nil
	}
	switch {
	case !e.last && e.budget.beyond.TryAcquire(bytes):
	case e.last || e.budget.last.CompareAndSwap(false, true):
		e.last = true
		if e.now.last && e.now.bytes+bytes > lastBytes || bytes > lastBytes {
			return fmt.Errorf("%w: %d bytes are more than one may have", ErrBusy, bytes)
		}
	default:
		return fmt.Errorf("%w: no room for %d bytes", ErrBusy, bytes)
	}
	e.old, e.now = e.now, part{bytes, e.last}
	e.budget.held.Add(bytes)
	return nil
}

// settle gives back the old buffer.
func (e *expense) settle() {
	if e != nil {
		e.release(&e.old)
	}
}

func (e *expense) release(p *part) {
	e.budget.held.Add(-p.bytes)
	if !p.last {
		e.budget.beyond.Release(p.bytes)
	}
	*p = part{}
}

// giveBack ends the expense.
func (e *expense) giveBack() {
	e.release(&e.old)
	e.release(&e.now)
	e.budget.held.Add(-e.first)
	e.budget.first.Release(e.first)
	e.first = 0
	if e.last {
		e.last = false
		e.budget.last.Store(false)
	}
}
