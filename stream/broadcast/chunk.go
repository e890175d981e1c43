package broadcast

import (
	"slices"

	"github.com/gavel-relay/gavel/stream"
)

// chunk has events that are sent together. Once it is in the list it does not change, except that
// next is set once.
type chunk struct {
	// plain and numbered are the same events without and with ids.
	plain, numbered []byte
	// ids are the ids of the events. ends are the indexes in numbered at which each ends.
	ids  []uint64
	ends []int
	// total is how many bytes of numbered all chunks have up to the end of this one.
	total uint64

	next  *chunk        // the next chunk. Read it only after ready is closed; if it is nil then, no chunk will follow
	ready chan struct{} // closed once next is decided
}

func newChunk() *chunk { return &chunk{ready: make(chan struct{})} }

// add appends an event. It may be called only before the chunk is in the list.
func (c *chunk) add(event stream.Event) {
	c.plain = appendFrame(c.plain, event, false)
	c.numbered = appendFrame(c.numbered, event, true)
	c.ids, c.ends = append(c.ids, event.ID), append(c.ends, len(c.numbered))
}

// events is the number of events.
func (c *chunk) events() int { return len(c.ids) }

// after is the part of numbered after the event of an id, and its number of events.
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
