package stream

import "time"

// Event is what is known to everybody of one order. Nobody may change it.
type Event struct {
	// ID is its place in the history, from 1 on: a later event has a greater one.
	ID uint64
	// Block is the number of the newest block then.
	Block uint64
	At    time.Time
	// JSON is the hint in one line, byte for byte as it is streamed and stored.
	JSON []byte
}
