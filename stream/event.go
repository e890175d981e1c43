package stream

import "time"

// Event is what is public of one order. It must not be changed.
type Event struct {
	// ID is the event's number in the history, from 1 on: a later event has a higher one.
	ID uint64
	// Block is the number of the newest block when the order was shared.
	Block uint64
	At    time.Time
	// JSON is the hint in one line, exactly as it is streamed and stored.
	JSON []byte
}
