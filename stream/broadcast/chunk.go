package broadcast

import (
	"slices"

	"github.com/gavel-relay/gavel/stream"
)

// chunk is some events that leave together. Once it is in the list only its successor may be set,
// once.
type chunk struct {
	// plain and numbered are the same events without and with ids.
	plain, numbered []byte
	// ids are the events', ends where each ends in numbered.
	ids  []uint64
	ends []int
	// total is how many bytes (of numbered) there were in all chunks up to the end of this one.
	total uint64

	next  *chunk        // what follows; read it only after ready is closed. nil then: nothing will ever follow
	ready chan struct{} // closed once next is decided
}

func newChunk() *chunk { return &chunk{ready: make(chan struct{})} }

// add appends an event. Only who makes the chunk may call it.
func (c *chunk) add(event stream.Event) {
	c.plain = appendFrame(c.plain, event, false)
	c.numbered = appendFrame(c.numbered, event, true)
	c.ids, c.ends = append(c.ids, event.ID), append(c.ends, len(c.numbered))
}

// events is how many there are.
func (c *chunk) events() int { return len(c.ids) }

// after is what of the chunk, with ids, follows an event, and how many events that is.
func (c *chunk) after(id uint64) (frames []byte, events int) {
	place, found := slices.BinarySearch(c.ids, id)
	if found {
		place++
	}
	if place == 0 {
		return c.numbered, len(c.ids)
	}
	return c.numbered[c.ends[place-1]:], len(c.ids) - place
}
