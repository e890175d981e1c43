package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
)

// resendPause is how long a Resender waits before it sends facts again (wall time).
const resendPause = 250 * time.Millisecond

// Resender writes facts that must not be missing, because nothing else tells of them and nobody
// asks again. While the journal does not keep one, it and all later ones of the Resender wait, and
// it is sent again:
//
//	Put ─▶ waiting ─▶ one ─▶ queue ─▶ journal
//	                   ▲                 │
//	                   └─── not acked ◀──┘
//
// The facts keep their order among each other, so only one is on its way at a time: they should be
// few. Other facts of the queue may come before them that were put later. The queue's Observe is
// called once for each. A Resender is safe for concurrent use.
type Resender[F any] struct {
	queue *Queue[F]
	// prefix makes ids of messages unique over all processes.
	prefix string

	mu      sync.Mutex // guards what follows
	waiting []F
	closed  bool

	wake  chan struct{} // holds at most one signal
	until context.Context
	end   context.CancelFunc
	done  chan struct{} // closed when everything is kept or lost after Close
}

// NewResender starts the goroutine that sends; Close ends it, and must be called before the
// queue's.
func NewResender[F any](queue *Queue[F]) *Resender[F] {
	r := &Resender[F]{queue: queue, prefix: rand.Text() + ".", wake: make(chan struct{}, 1), done: make(chan struct{})}
	r.until, r.end = context.WithCancel(context.Background())
	go r.run()
	return r
}

// Put has a fact written. It does not wait for the journal. If as many wait as the queue may hold,
// the fact is lost, and counted by the queue.
func (r *Resender[F]) Put(fact F) {
	r.mu.Lock()
	full := r.closed || len(r.waiting) >= r.queue.Limit
	if !full {
		r.waiting = append(r.waiting, fact)
	}
	r.mu.Unlock()
	if full {
		r.queue.lose(1)
	}
	signal(r.wake)
}

// Close tries once more to have everything kept, and returns when it is, or when the context ends.
// The error says that facts may be missing.
func (r *Resender[F]) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	defer r.end()
	signal(r.wake)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("keep the last facts: %w", ctx.Err())
	}
}

// run sends what waits, until the Resender is closed and nothing waits, or Close has given up.
func (r *Resender[F]) run() {
	defer close(r.done)
	for number := uint64(1); ; {
		fact, some, closed := r.oldest()
		switch {
		case some:
			if !r.keep(entry[F]{fact: fact, id: r.prefix + strconv.FormatUint(number, 10)}) {
				r.queue.lose(r.drop())
				return
			}
			number++
			r.forgetOldest()
		case closed:
			return
		default:
			<-r.wake
		}
	}
}

func (r *Resender[F]) oldest() (fact F, some, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return fact, false, r.closed
	}
	return r.waiting[0], true, r.closed
}

func (r *Resender[F]) forgetOldest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none F
	r.waiting[0] = none // so that the collector can free it
	r.waiting = r.waiting[1:]
}

// drop forgets what waits and returns how many facts that were.
func (r *Resender[F]) drop() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := len(r.waiting)
	r.waiting = nil
	return count
}

// keep sends a fact until the journal has it. It returns false if Close has given up before.
func (r *Resender[F]) keep(e entry[F]) bool {
	for {
		err := r.queue.putAgain(e).Wait(r.until)
		if err == nil {
			return true
		}
		e.again = e.again || !errors.Is(err, errFull) // else it has not reached the queue
		if run.Pause(r.until, resendPause) != nil {
			return false
		}
	}
}

// putAgain queues a fact of a Resender.
func (q *Queue[F]) putAgain(e entry[F]) *AckFuture {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.room(1, q.Limit); err != nil {
		return newEndedFuture(err)
	}
	q.waiting = append(q.waiting, e)
	return q.share()
}
