package sse

import "bytes"

// Append appends an event in its form on the wire: its id and type if it has them, and a data line
// for each line of its data. The data must not contain a carriage return.
func Append(to []byte, event Event) []byte {
	if event.ID != "" {
		to = append(append(append(to, "id: "...), event.ID...), '\n')
	}
	if event.Type != "" {
		to = append(append(append(to, "event: "...), event.Type...), '\n')
	}
	for line := range bytes.SplitSeq(event.Data, []byte("\n")) {
		to = append(append(append(to, "data: "...), line...), '\n')
	}
	return append(to, '\n')
}
