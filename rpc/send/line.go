package send

import (
	"slices"
	"sync"
)

// parcel is a request on its way to a builder.
type parcel struct {
	builder Builder
	request Request
}

// line is what waits for one builder, oldest first. It is safe for concurrent use.
type line struct {
	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	waiting []parcel
	lost    []parcel // had to make room, and nobody was told yet
	closed  bool
}

func newLine() *line {
	l := new(line)
	l.changed = sync.NewCond(&l.mu)
	return l
}

// put takes a parcel; when there are more than most, the oldest is lost, cancels last: a builder that misses an order does no harm.
func (l *line) put(p parcel, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= most {
		oldest := max(0, slices.IndexFunc(l.waiting, func(p parcel) bool { return !p.request.Cancel }))
		l.lost = append(l.lost, withoutBody(l.waiting[oldest]))
		l.waiting = slices.Delete(l.waiting, oldest, oldest+1)
	}
	l.waiting = append(l.waiting, p)
	l.changed.Signal()
}

// withoutBody is what is told of a lost parcel: its body would only take memory.
func withoutBody(p parcel) parcel {
	p.request.Body = nil
	return p
}

// take waits for the next parcel and tells which ones were lost before it. There are no more when the line is closed and empty.
func (l *line) take() (lost []parcel, next parcel, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.changed.Wait()
	}
	lost, l.lost = l.lost, nil
	if len(l.waiting) == 0 {
		return lost, parcel{}, false
	}
	next = l.waiting[0]
	l.waiting[0] = parcel{}
	l.waiting = l.waiting[1:]
	return lost, next, true
}

// close lets nobody wait any more.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}
