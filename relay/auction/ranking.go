package auction

import "container/heap"

// ranking has bids that may lead as a heap, with the leader first: of each builder two at most. A
// bid enters and leaves in O(log n) steps for n builders, however many bids there are. Each entry
// knows its place, so that it is not searched for.
type ranking []*entry

// enter adds an entry, unless it can never lead.
func (r *ranking) enter(e *entry) {
	e.place = -1
	if e.counts && !e.bid.ValueWei.IsZero() {
		heap.Push(r, e)
	}
}

// leave takes an entry out, if it is there. It may be nil.
func (r *ranking) leave(e *entry) {
	if e != nil && e.place >= 0 {
		heap.Remove(r, e.place)
	}
}

func (r *ranking) first() *entry {
	if len(*r) == 0 {
		return nil
	}
	return (*r)[0]
}

// leads says which of two entries leads: the one of greater value, and of equal values the one that
// entered the book first (decision 3).
func (e *entry) leads(other *entry) bool {
	if order := e.bid.ValueWei.Cmp(other.bid.ValueWei); order != 0 {
		return order > 0
	}
	return e.order < other.order
}

// Less is part of heap.Interface.
func (r *ranking) Less(i, j int) bool { return (*r)[i].leads((*r)[j]) }

// Len is part of heap.Interface.
func (r *ranking) Len() int { return len(*r) }

// Swap is part of heap.Interface.
func (r *ranking) Swap(i, j int) {
	entries := *r
	entries[i], entries[j] = entries[j], entries[i]
	entries[i].place, entries[j].place = i, j
}

// Push is part of heap.Interface.
func (r *ranking) Push(x any) {
	e := x.(*entry)
	e.place = len(*r)
	*r = append(*r, e)
}

// Pop is part of heap.Interface.
func (r *ranking) Pop() any {
	last := len(*r) - 1
	e := (*r)[last]
	(*r)[last], e.place = nil, -1
	*r = (*r)[:last]
	return e
}
