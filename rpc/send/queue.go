package send

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// job is a message that waits for its turn.
type job struct {
	// order is the id of the order that it is about, key its outgoing replacementUuid, if it has one.
	order  uint64
	key    uuid.UUID
	cancel bool
	write  writer
	// ended is told once how it went: the error is nil when the builder took the message.
	ended func(err error, tookMs int64)
}

// sendQueue is what waits for a builder, oldest first. It is safe for concurrent use.
type sendQueue struct {
	builder Builder
	limit   int

	mu      sync.Mutex // guards all below
	changed sync.Cond  // broadcast when a job may have become free, or the queue closed
	waiting []job
	running map[uuid.UUID]int // keys of the jobs that were taken and are not done
	dropped uint64
	closed  bool
}

func newSendQueue(b Builder, limit int) *sendQueue {
	l := &sendQueue{builder: b, limit: limit, running: map[uuid.UUID]int{}}
	l.changed.L = &l.mu
	return l
}

// add lets a job wait. It returns the job that had to leave for it, if one had; if the queue is
// closed, ok is false and the job was not added.
func (q *sendQueue) add(j job) (gone *job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(j)
}

// push is add; the caller holds mu. The oldest order leaves a full queue, and a cancellation only
// if nothing else waits: an order that is given up is lost income, a cancellation a broken promise.
func (q *sendQueue) push(j job) (gone *job, ok bool) {
	if q.closed {
		return nil, false
	}
	if len(q.waiting) == q.limit {
		oldest := max(0, slices.IndexFunc(q.waiting, func(w job) bool { return !w.cancel }))
		left := q.remove(oldest)
		gone = &left
		q.dropped++
	}
	q.waiting = append(q.waiting, j)
	q.changed.Signal()
	return gone, true
}

// cancel takes out the waiting orders with a cancellation's key that are not newer than its own
// order, and then adds the cancellation if the builder has one of them, which the caller says, or
// is just getting one. It returns what it took out, and then what add does.
func (q *sendQueue) cancel(j job, has bool) (moot []job, gone *job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w job) bool {
		if w.cancel || w.key != j.key || w.order > j.order {
			return false
		}
		moot = append(moot, w)
		return true
	})
	if !has && q.running[j.key] == 0 {
		return moot, nil, true
	}
	gone, ok = q.push(j)
	return moot, gone, ok
}

// take waits for the oldest job whose key no running job has. It says false when the queue is
// closed and empty.
func (q *sendQueue) take() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for i, j := range q.waiting {
			if j.key == uuid.Nil || q.running[j.key] == 0 {
				q.remove(i)
				q.running[j.key]++
				return j, true
			}
		}
		if q.closed && len(q.waiting) == 0 {
			return job{}, false
		}
		q.changed.Wait()
	}
}

// remove takes out a waiting job; the caller holds mu. The first one, which it mostly is, costs
// nothing: append moves the others at times.
func (q *sendQueue) remove(i int) job {
	j := q.waiting[i]
	if i == 0 {
		q.waiting[0] = job{} // what it holds is large
		q.waiting = q.waiting[1:]
		return j
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return j
}

// done lets others with the job's key run.
func (q *sendQueue) done(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[j.key]--; q.running[j.key] == 0 {
		delete(q.running, j.key)
	}
	q.changed.Broadcast()
}

// close lets nothing more wait.
func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
