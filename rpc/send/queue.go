package send

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// job is a message that waits to be sent.
type job struct {
	// order is the id of the order that it is about; key is the order's outgoing replacementUuid,
	// if it has one.
	order  uint64
	key    uuid.UUID
	cancel bool
	write  writer
	// ended is called once with the outcome: the error is nil if the builder accepted the message.
	ended func(err error, tookMs int64)
}

// sendQueue has the messages that wait for one builder, oldest first. It is safe for concurrent
// use.
type sendQueue struct {
	builder Builder
	limit   int

	mu      sync.Mutex // guards all below
	changed sync.Cond  // signalled when a job was added or may have become free, or the queue was closed
	waiting []job
	running map[uuid.UUID]int // how many taken jobs with a key are not done
	dropped uint64
	closed  bool
}

func newSendQueue(b Builder, limit int) *sendQueue {
	l := &sendQueue{builder: b, limit: limit, running: map[uuid.UUID]int{}}
	l.changed.L = &l.mu
	return l
}

// add queues a job. If the queue was full it returns the job that was removed for it. If the queue
// is closed, ok is false and the job was not added.
func (q *sendQueue) add(j job) (gone *job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(j)
}

// push is add; the caller holds mu. A full queue gives up its oldest order, and a cancellation only
// if nothing else waits: a lost order costs income, but a lost cancellation breaks a promise.
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

// cancel removes the waiting orders with the cancellation's key that are not newer than its own
// order. It adds the cancellation only if the builder has one of these orders (has, which the
// caller knows) or is being sent one now. It returns the removed orders as moot, and gone and ok as
// add does.
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

// take waits for the oldest job whose key no running job has. It returns false when the queue is
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

// remove takes a waiting job out; the caller holds mu. It is mostly the first one: then it only
// moves the start of the slice, which append reallocates now and then.
func (q *sendQueue) remove(i int) job {
	j := q.waiting[i]
	if i == 0 {
		q.waiting[0] = job{} // release the message, which is large
		q.waiting = q.waiting[1:]
		return j
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return j
}

// finish allows other jobs with the job's key to run.
func (q *sendQueue) finish(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[j.key]--; q.running[j.key] == 0 {
		delete(q.running, j.key)
	}
	q.changed.Broadcast()
}

// close refuses further jobs.
func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
