package exec

// Lanes decide which of many waiting jobs gets the next of a few places. Each sender has a lane,
// and the lane that has used the least time so far is next, however many jobs wait in it. They are
// pure: the caller runs the jobs and says how long each took.
//
//	known      a: 1 4 7 8 9 ─┐
//	known      b: 2          ├─▶ 1 2 3 4 5 7 8 9, of those with the same time, known senders first
//	stranger   c: 3 5       ─┘

import (
	"slices"
	"time"
)

// LaneQuantum is the least time that is counted for a job that ran. A job that takes longer is
// slow.
const LaneQuantum = 50 * time.Millisecond

// idleKept is how many idle lanes are remembered, so that the time that they have used still
// counts.
const idleKept = 4096

// Lanes hold waiting jobs, by their senders. They are not safe for concurrent use.
//
// A job may take its place for seconds. So a sender whose jobs are slow, or not yet known to be
// fast, must not get all places: one such lane has half of the places at most, and all such
// strangers together leave one place to the others. With a single place neither limit holds.
type Lanes[K comparable, T any] struct {
	places  int
	running int
	// doubtful is how many places are taken by strangers whose jobs are not known to be fast.
	doubtful int
	// clock is the time that a lane would have used if a job had always waited in it. A lane in
	// which jobs begin to wait starts at the clock, so a sender can't save time up by being idle.
	// The clock moves on with every job that ends, so newcomers can't get ahead of waiting lanes
	// for ever.
	clock   time.Duration
	arrived uint64
	waiting [2]int // number of waiting jobs: strangers', known senders'
	lanes   map[K]*queue[K, T]
	busy    []*queue[K, T] // the lanes in which a job waits
}

// queue is a lane.
type queue[K comparable, T any] struct {
	key     K
	waiting []T
	known   bool
	// had is the time that the lane has used. arrived orders lanes that have used the same time.
	had     time.Duration
	arrived uint64
	running int
	// proven: the job that ended last was fast. doubts is how many of the lane's places count as
	// doubtful.
	proven bool
	doubts int
}

// LaneTicket is a taken place. The caller gives it back with Done.
type LaneTicket[K comparable] struct {
	Key      K
	doubtful bool
}

// NewLanes returns lanes with so many places, at least one.
func NewLanes[K comparable, T any](places int) *Lanes[K, T] {
	return &Lanes[K, T]{places: max(places, 1), lanes: map[K]*queue[K, T]{}}
}

// Add puts a job at the end of a lane. Of lanes that have used the same time, those of known
// senders come before those of strangers.
func (l *Lanes[K, T]) Add(key K, known bool, item T) {
	q := l.lanes[key]
	if q == nil {
		l.forget()
		q = &queue[K, T]{key: key}
		l.lanes[key] = q
	}
	if len(q.waiting) == 0 {
		q.had, q.arrived = max(q.had, l.clock), l.arrived
		l.arrived++
		l.busy = append(l.busy, q)
	}
	l.waiting[class(q.known)] -= len(q.waiting)
	q.known, q.waiting = known, append(q.waiting, item)
	l.waiting[class(q.known)] += len(q.waiting)
}

func class(known bool) int {
	if known {
		return 1
	}
	return 0
}

// Waiting is how many jobs wait in a lane, and in all lanes of known senders or of strangers,
// whichever the lane is.
func (l *Lanes[K, T]) Waiting(key K, known bool) (own, all int) {
	if q := l.lanes[key]; q != nil {
		own = len(q.waiting)
	}
	return own, l.waiting[class(known)]
}

// Next takes a place for the next job; ok is false if no waiting job may have a place now.
func (l *Lanes[K, T]) Next() (item T, ticket LaneTicket[K], ok bool) {
	var next *queue[K, T]
	for _, q := range l.busy {
		if l.mayRun(q) && (next == nil || before(q, next)) {
			next = q
		}
	}
	if next == nil {
		return item, ticket, false
	}
	item, ticket.Key = next.waiting[0], next.key
	l.drop(next, 0)
	next.arrived = l.arrived
	l.arrived++
	next.running++
	l.running++
	if ticket.doubtful = !next.known && !next.proven; ticket.doubtful {
		next.doubts++
		l.doubtful++
	}
	return item, ticket, true
}

func (l *Lanes[K, T]) mayRun(q *queue[K, T]) bool {
	switch {
	case l.running >= l.places:
		return false
	case q.proven || l.places == 1:
		return true
	case q.running >= l.places/2:
		return false
	}
	return q.known || l.doubtful < l.places-1
}

func before[K comparable, T any](a, b *queue[K, T]) bool {
	switch {
	case a.had != b.had:
		return a.had < b.had
	case a.known != b.known:
		return a.known
	}
	return a.arrived < b.arrived
}

// Done gives a place back after the job took so much time; 0 says that it did not run.
func (l *Lanes[K, T]) Done(ticket LaneTicket[K], took time.Duration) {
	q := l.lanes[ticket.Key]
	q.running--
	l.running--
	if ticket.doubtful {
		q.doubts--
		l.doubtful--
	}
	if took <= 0 {
		return
	}
	q.proven = took <= LaneQuantum
	took = max(took, LaneQuantum)
	q.had += took
	active := len(l.busy)
	if len(q.waiting) == 0 {
		active++
	}
	l.clock += took / time.Duration(active)
}

// Remove takes the first job for which is returns true out of a lane; false if there is none.
func (l *Lanes[K, T]) Remove(key K, is func(T) bool) bool {
	q := l.lanes[key]
	if q == nil {
		return false
	}
	i := slices.IndexFunc(q.waiting, is)
	if i >= 0 {
		l.drop(q, i)
	}
	return i >= 0
}

// Clear removes all waiting jobs, but remembers how much time each lane has used.
func (l *Lanes[K, T]) Clear() {
	for _, q := range l.busy {
		q.waiting = nil
	}
	l.busy, l.waiting = nil, [2]int{}
}

// drop removes the waiting job at index i.
func (l *Lanes[K, T]) drop(q *queue[K, T], i int) {
	l.waiting[class(q.known)]--
	if i == 0 {
		var none T
		q.waiting[0] = none
		q.waiting = q.waiting[1:]
	} else {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	if len(q.waiting) == 0 {
		q.waiting = nil
		l.busy = slices.DeleteFunc(l.busy, func(other *queue[K, T]) bool { return other == q })
	}
}

// forget makes room when too many lanes are remembered. It deletes idle lanes that have used no
// more time than the clock; if that is not enough, it deletes all idle lanes.
func (l *Lanes[K, T]) forget() {
	if len(l.lanes) < idleKept+len(l.busy) {
		return
	}
	for _, all := range []bool{false, true} {
		for key, q := range l.lanes {
			if len(q.waiting) == 0 && q.running == 0 && (all || q.had <= l.clock) {
				delete(l.lanes, key)
			}
		}
		if len(l.lanes) < idleKept+len(l.busy) {
			return
		}
	}
}
