package stream

import "math"

// Range are numbers from one to another, both included.
type Range struct{ From, To int64 }

// Always is every number that a bound may have.
var Always = Range{To: math.MaxInt64}

// Query asks for events of the past, the oldest first. Blocks and Times (seconds since 1970) must
// both have Event.Block and Event.At.
type Query struct {
	Blocks, Times Range
	// Offset is how many of them to pass over, Limit how many to answer at most.
	Offset int64
	Limit  int
}

// Info is what the history has: how many events, and between which blocks and times (seconds since
// 1970). All zero when it has none.
type Info struct {
	Count            int64
	MinBlock, MinSec int64
	MaxBlock, MaxSec int64
}
