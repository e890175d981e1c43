package history

import "github.com/gavel-relay/gavel/stream"

// chunkIDs is how many ids share a chunk. The statements and the migration contain this number,
// too.
const chunkIDs = 1024

// chunk sums up the events of chunkIDs ids.
type chunk struct {
	number        int64
	events        int64
	blocks, times stream.Range
}

// first and last are the bounds of a chunk's ids.
func (c chunk) first() int64 { return c.number*chunkIDs + 1 }
func (c chunk) last() int64  { return (c.number + 1) * chunkIDs }

// summary sums up the events up to the id last. It must not be changed, because the next summary
// may share its chunks.
type summary struct {
	last int64
	// full are the chunks that get no more events, in order. open is the newest chunk; it is empty
	// if there are no events.
	full []chunk
	open chunk
	info stream.Info
}

// with is the summary with one more event, whose id must be above all others.
func (s summary) with(id, block, sec int64) summary {
	if number := (id - 1) / chunkIDs; s.open.events == 0 || s.open.number != number {
		if s.open.events > 0 {
			s.full = append(s.full, s.open)
		}
		s.open = chunk{number: number}
	}
	one := chunk{number: s.open.number, events: 1, blocks: stream.Range{From: block, To: block},
		times: stream.Range{From: sec, To: sec}}
	s.open = s.open.and(one)
	s.last, s.info = id, infoOf(chunkOf(s.info).and(one))
	return s
}

// and merges the events of two chunks.
func (c chunk) and(other chunk) chunk {
	if c.events == 0 {
		return other
	}
	return chunk{number: c.number, events: c.events + other.events, blocks: span(c.blocks, other.blocks),
		times: span(c.times, other.times)}
}

// span is the smallest range that contains both.
func span(a, b stream.Range) stream.Range {
	return stream.Range{From: min(a.From, b.From), To: max(a.To, b.To)}
}

func chunkOf(i stream.Info) chunk {
	return chunk{events: i.Count, blocks: stream.Range{From: i.MinBlock, To: i.MaxBlock},
		times: stream.Range{From: i.MinSec, To: i.MaxSec}}
}

// all yields the chunks in order; the last one may be empty.
func (s summary) all(yield func(chunk) bool) {
	for _, c := range s.full {
		if !yield(c) {
			return
		}
	}
	yield(s.open)
}

func infoOf(c chunk) stream.Info {
	return stream.Info{Count: c.events, MinBlock: c.blocks.From, MaxBlock: c.blocks.To, MinSec: c.times.From,
		MaxSec: c.times.To}
}

// summarize makes the summary of all chunks, in order.
func summarize(last int64, chunks []chunk) summary {
	s := summary{last: last}
	all := chunk{}
	for _, c := range chunks {
		all = all.and(c)
	}
	s.info = infoOf(all)
	if n := len(chunks); n > 0 {
		s.full, s.open = chunks[:n-1:n-1], chunks[n-1]
	}
	return s
}

// How many of a chunk's events a query asks for.
const (
	none = iota
	some
	whole
)

// asked says how many of a chunk's events a query asks for: none, some or whole.
func asked(q stream.Query, c chunk) int {
	return min(overlap(q.Blocks, c.blocks), overlap(q.Times, c.times))
}

func overlap(want, have stream.Range) int {
	switch {
	case have.To < want.From || have.From > want.To:
		return none
	case have.From < want.From || have.To > want.To:
		return some
	}
	return whole
}
