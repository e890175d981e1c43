package stream

import "math"

// Range is the numbers between two bounds, both included.
type Range struct{ From, To int64 }

// Always is the range of all valid numbers.
var Always = Range{To: math.MaxInt64}

// Query asks for past events, oldest first: those whose Event.Block is in Blocks and whose Event.At
// is in Times (seconds since 1970).
type Query struct {
	Blocks, Times Range
	// Offset is how many of these events to skip, Limit how many to return at most.
	Offset int64
	Limit  int
}

// Info is what the history has: the number of events, and the range of their blocks and times
// (seconds since 1970). It is zero for an empty history.
type Info struct {
	Count            int64
	MinBlock, MinSec int64
	MaxBlock, MaxSec int64
}
