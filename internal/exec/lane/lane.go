// Package lane says who is next where many wait for a few places: everybody has a lane of his own,
// and the lane goes first that has had the least time, however many wait in it. It is pure: who
// runs what, and how long that took, is the caller's to say.
//
//	known      a: 1 4 7 8 9 ─┐
//	known      b: 2          ├─▶ 1 2 3 4 5 7 8 9, of those who had the same, who is known first
//	stranger   c: 3 5       ─┘
package lane

import (
	"slices"
	"time"
)

// Quantum is the least time that is counted for anything that ran. Whatever takes longer is slow.
const Quantum = 50 * time.Millisecond

// idleKept is how many lanes in which nothing happens are remembered, for what their owners took
// before.
const idleKept = 4096

// Lanes hold what waits, by whom it is for. They are not safe for concurrent use.
//
// A place may be taken for seconds. So nobody whose work is slow, or not known to be fast yet, has
// all of them: one lane of that kind has half of the places at most, and strangers of that kind
// leave one place to the others. With one place there is nothing to leave.
type Lanes[K comparable, T any] struct {
	places  int
	running int
	// doubtful is how many places strangers have whose work is not known to be fast.
	doubtful int
	// clock is the time that a lane would have had in which something waited all along. Whoever comes
	// begins there, so that nobody saves time up; and since it goes on whenever anybody has had some,
	// those who come later cannot keep out for ever who waits.
	clock   time.Duration
	arrived uint64
	waiting [2]int // strangers', and that of those who are known
	lanes   map[K]*queue[K, T]
	busy    []*queue[K, T] // those in which something waits
}

// queue is a lane.
type queue[K comparable, T any] struct {
	key     K
	waiting []T
	known   bool
	// had is the time that it had, arrived its place among those that had the same.
	had     time.Duration
	arrived uint64
	running int
	// proven: what ended last was fast. doubts are its places that count as doubtful.
	proven bool
	doubts int
}

// Ticket is a place that was taken. It is given back with Done.
type Ticket[K comparable] struct {
	Key      K
	doubtful bool
}

// New has so many places, one at least.
func New[K comparable, T any](places int) *Lanes[K, T] {
	return &Lanes[K, T]{places: max(places, 1), lanes: map[K]*queue[K, T]{}}
}

// Add lets something wait at the end of a lane. Of those who had the same time, who is known comes
// before strangers.
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

// Waiting is how many wait in a lane, and in all lanes of its kind.
func (l *Lanes[K, T]) Waiting(key K, known bool) (own, all int) {
	if q := l.lanes[key]; q != nil {
		own = len(q.waiting)
	}
	return own, l.waiting[class(known)]
}

// Next takes a place for what is next. There may be none free for anybody who waits.
func (l *Lanes[K, T]) Next() (item T, ticket Ticket[K], ok bool) {
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

// Done gives a place back after a time; without one, nothing ran.
func (l *Lanes[K, T]) Done(ticket Ticket[K], took time.Duration) {
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
	q.proven = took <= Quantum
	took = max(took, Quantum)
	q.had += took
	active := len(l.busy)
	if len(q.waiting) == 0 {
		active++
	}
	l.clock += took / time.Duration(active)
}

// Remove takes the first one out of a lane that is so; false when there is none.
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

// Clear forgets all who wait, but not what they took before.
func (l *Lanes[K, T]) Clear() {
	for _, q := range l.busy {
		q.waiting = nil
	}
	l.busy, l.waiting = nil, [2]int{}
}

// drop takes out what waits at a place.
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

// forget makes room when very many lanes are remembered: those go that are idle and have had no
// more than others, or, if there are none, all that are idle.
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
