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

// line is what waits for a builder, oldest first. It is safe for concurrent use.
type line struct {
	builder Builder
	limit   int

	mu      sync.Mutex // guards all below
	changed sync.Cond  // broadcast when a job may have become free, or the line closed
	waiting []job
	running map[uuid.UUID]int // keys of the jobs that were taken and are not done
	dropped uint64
	closed  bool
}

func newLine(b Builder, limit int) *line {
	l := &line{builder: b, limit: limit, running: map[uuid.UUID]int{}}
	l.changed.L = &l.mu
	return l
}

// add lets a job wait. It returns the job that had to leave for it, if one had; if the line is
// closed, ok is false and the job was not added.
func (l *line) add(j job) (gone *job, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.push(j)
}

// push is add; the caller holds mu. The oldest order leaves a full line, and a cancellation only if
// nothing else waits: an order that is given up is lost income, a cancellation a broken promise.
func (l *line) push(j job) (gone *job, ok bool) {
	if l.closed {
		return nil, false
	}
	if len(l.waiting) == l.limit {
		oldest := max(0, slices.IndexFunc(l.waiting, func(w job) bool { return !w.cancel }))
		left := l.remove(oldest)
		gone = &left
		l.dropped++
	}
	l.waiting = append(l.waiting, j)
	l.changed.Signal()
	return gone, true
}

// cancel takes out the waiting orders with a cancellation's key that are not newer than its own
// order, and then adds the cancellation if the builder has one of them, which the caller says, or
// is just getting one. It returns what it took out, and then what add does.
func (l *line) cancel(j job, has bool) (moot []job, gone *job, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w job) bool {
		if w.cancel || w.key != j.key || w.order > j.order {
			return false
		}
		moot = append(moot, w)
		return true
	})
	if !has && l.running[j.key] == 0 {
		return moot, nil, true
	}
	gone, ok = l.push(j)
	return moot, gone, ok
}

// take waits for the oldest job whose key no running job has. It says false when the line is closed
// and empty.
func (l *line) take() (job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for i, j := range l.waiting {
			if j.key == uuid.Nil || l.running[j.key] == 0 {
				l.remove(i)
				l.running[j.key]++
				return j, true
			}
		}
		if l.closed && len(l.waiting) == 0 {
			return job{}, false
		}
		l.changed.Wait()
	}
}

// remove takes out a waiting job; the caller holds mu. The first one, which it mostly is, costs
// nothing: append moves the others at times.
func (l *line) remove(i int) job {
	j := l.waiting[i]
	if i == 0 {
		l.waiting[0] = job{} // what it holds is large
		l.waiting = l.waiting[1:]
		return j
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return j
}

// done lets others with the job's key run.
func (l *line) done(j job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[j.key]--; l.running[j.key] == 0 {
		delete(l.running, j.key)
	}
	l.changed.Broadcast()
}

// close lets nothing more wait.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}
