package exec

// FairQueue decides which of many waiting jobs gets the next of a few places (start-time fair
// queueing). Each sender has a flow, and the flow that has used the least time so far is next,
// however many jobs wait in it. It is pure: the caller runs the jobs and says how long each took.
//
//	known      a: 1 4 7 8 9 ─┐
//	known      b: 2          ├─▶ 1 2 3 4 5 7 8 9, of those with the same time, known senders first
//	stranger   c: 3 5       ─┘

import (
	"slices"
	"time"
)

// FlowQuantum is the least time that is counted for a job that ran. A job that takes longer is
// slow.
const FlowQuantum = 50 * time.Millisecond

// idleKept is how many idle flows are remembered, so that the time that they have used still
// counts.
const idleKept = 4096

// FairQueue holds waiting jobs, by their senders. It is not safe for concurrent use.
//
// A job may take its place for seconds. So a sender whose jobs are slow, or not yet known to be
// fast, must not get all places: one such flow has half of the places at most, and all such
// strangers together leave one place to the others. With a single place neither limit holds.
type FairQueue[K comparable, T any] struct {
	places  int
	running int
	// doubtful is how many places are taken by strangers whose jobs are not known to be fast.
	doubtful int
	// clock is the time that a flow would have used if a job had always waited in it. A flow in
	// which jobs begin to wait starts at the clock, so a sender can't save time up by being idle.
	// The clock moves on with every job that ends, so newcomers can't get ahead of waiting flows
	// for ever.
	clock   time.Duration
	arrived uint64
	waiting [2]int // number of waiting jobs: strangers', known senders'
	flows   map[K]*flow[K, T]
	busy    []*flow[K, T] // the flows in which a job waits
}

// flow has the jobs of one sender.
type flow[K comparable, T any] struct {
	key     K
	waiting []T
	known   bool
	// had is the time that the flow has used. arrived orders flows that have used the same time.
	had     time.Duration
	arrived uint64
	running int
	// proven: the job that ended last was fast. doubts is how many of the flow's places count as
	// doubtful.
	proven bool
	doubts int
}

// FlowTicket is a taken place. The caller gives it back with Done.
type FlowTicket[K comparable] struct {
	Key      K
	doubtful bool
}

// NewFairQueue returns a queue for so many places, at least one.
func NewFairQueue[K comparable, T any](places int) *FairQueue[K, T] {
	return &FairQueue[K, T]{places: max(places, 1), flows: map[K]*flow[K, T]{}}
}

// Add puts a job at the end of a flow. Of flows that have used the same time, those of known
// senders come before those of strangers.
func (l *FairQueue[K, T]) Add(key K, known bool, item T) {
	q := l.flows[key]
	if q == nil {
		l.forget()
		q = &flow[K, T]{key: key}
		l.flows[key] = q
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

// Waiting is how many jobs wait in a flow, and in all flows of known senders or of strangers,
// whichever the flow is.
func (l *FairQueue[K, T]) Waiting(key K, known bool) (own, all int) {
	if q := l.flows[key]; q != nil {
		own = len(q.waiting)
	}
	return own, l.waiting[class(known)]
}

// Next takes a place for the next job; ok is false if no waiting job may have a place now.
func (l *FairQueue[K, T]) Next() (item T, ticket FlowTicket[K], ok bool) {
	var next *flow[K, T]
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

func (l *FairQueue[K, T]) mayRun(q *flow[K, T]) bool {
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

func before[K comparable, T any](a, b *flow[K, T]) bool {
	switch {
	case a.had != b.had:
		return a.had < b.had
	case a.known != b.known:
		return a.known
	}
	return a.arrived < b.arrived
}

// Done gives a place back after the job took so much time; 0 says that it did not run.
func (l *FairQueue[K, T]) Done(ticket FlowTicket[K], took time.Duration) {
	q := l.flows[ticket.Key]
	q.running--
	l.running--
	if ticket.doubtful {
		q.doubts--
		l.doubtful--
	}
	if took <= 0 {
		return
	}
	q.proven = took <= FlowQuantum
	took = max(took, FlowQuantum)
	q.had += took
	active := len(l.busy)
	if len(q.waiting) == 0 {
		active++
	}
	l.clock += took / time.Duration(active)
}

// Remove takes the first job for which is returns true out of a flow; false if there is none.
func (l *FairQueue[K, T]) Remove(key K, is func(T) bool) bool {
	q := l.flows[key]
	if q == nil {
		return false
	}
	i := slices.IndexFunc(q.waiting, is)
	if i >= 0 {
		l.drop(q, i)
	}
	return i >= 0
}

// Clear removes all waiting jobs, but remembers how much time each flow has used.
func (l *FairQueue[K, T]) Clear() {
	for _, q := range l.busy {
		q.waiting = nil
	}
	l.busy, l.waiting = nil, [2]int{}
}

// drop removes the waiting job at index i.
func (l *FairQueue[K, T]) drop(q *flow[K, T], i int) {
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
		l.busy = slices.DeleteFunc(l.busy, func(other *flow[K, T]) bool { return other == q })
	}
}

// forget makes room when too many flows are remembered. It deletes idle flows that have used no
// more time than the clock; if that is not enough, it deletes all idle flows.
func (l *FairQueue[K, T]) forget() {
	if len(l.flows) < idleKept+len(l.busy) {
		return
	}
	for _, all := range []bool{false, true} {
		for key, q := range l.flows {
			if len(q.waiting) == 0 && q.running == 0 && (all || q.had <= l.clock) {
				delete(l.flows, key)
			}
		}
		if len(l.flows) < idleKept+len(l.busy) {
			return
		}
	}
}
