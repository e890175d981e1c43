package generate

import (
	"container/heap"
	"time"
)

// agenda has what is to happen, in the order of time; of what happens at the same time, what was
// put there first is first.
type agenda struct {
	events eventHeap
	added  uint64
}

type event struct {
	at    time.Time
	order uint64
	do    func() error
}

func (a *agenda) add(at time.Time, do func() error) {
	a.added++
	heap.Push(&a.events, event{at, a.added, do})
}

// next takes the next event off the agenda; false if there is none before a time.
func (a *agenda) next(before time.Time) (event, bool) {
	if len(a.events) == 0 || !a.events[0].at.Before(before) {
		return event{}, false
	}
	return heap.Pop(&a.events).(event), true
}

// eventHeap implements heap.Interface.
type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)   { *h = append(*h, e.(event)) }

func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return e
}
