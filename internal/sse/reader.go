// Package sse reads and writes server-sent events (HTML Living Standard, 9.2), as beacon nodes and
// order-flow streams send them.
//
//	connection ─▶ Watch: ends it when it is silent ─▶ Reader: lines ─▶ Event
//
// It does not use tmaxmax/go-sse, which only tests use as a second client. The reader of that
// library returns an event that the end of the connection cut short. It also counts keep-alive
// comments without a blank line towards the bound of the next event, so that a quiet stream ends
// with an error.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Event is one event. The standard's retry time is not used.
type Event struct {
	// ID is the id of this event, or of the last one before it that had an id.
	ID string
	// Type is the event's name, such as a beacon node's topic; empty if it has none.
	Type string
	// Data is its data lines, joined by line feeds.
	Data []byte
}

// ErrTooLong says that a line, or the data of an event, exceeds the bound of the Reader.
var ErrTooLong = errors.New("an event of the stream is too long")

// Reader reads the events of one connection. It is for one goroutine.
type Reader struct {
	lines    *bufio.Scanner
	maxBytes int
	id       string
	begun    bool
}

// startBytes is the initial size of a Reader's buffer.
const startBytes = 4 << 10

// NewReader reads from a connection. A line, and the data of an event, may have up to maxBytes.
func NewReader(from io.Reader, maxBytes int) *Reader {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, min(startBytes, maxBytes)), maxBytes)
	lines.Split(splitLine)
	return &Reader{lines: lines, maxBytes: maxBytes}
}

// Next waits for the next event with data; the caller owns it. The error is io.EOF when the
// connection ends, and ErrTooLong above the bound. An event that the end of the connection cuts
// short is dropped.
func (r *Reader) Next() (Event, error) {
	var event Event
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if !r.begun {
			r.begun, line = true, bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			if event.Data != nil {
				event.ID, event.Data = r.id, event.Data[:len(event.Data)-1]
				return event, nil
			}
			event.Type = "" // an event without data is dropped
			continue
		}
		r.addField(&event, line)
		if len(event.Data) > r.maxBytes {
			return Event{}, ErrTooLong
		}
	}
	err := r.lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return Event{}, ErrTooLong
	case err != nil:
		return Event{}, fmt.Errorf("read the stream: %w", err)
	}
	return Event{}, io.EOF
}

// addField adds a line to the event. It ignores comments and unknown fields.
func (r *Reader) addField(event *Event, line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		event.Data = append(append(event.Data, value...), '\n')
	case "event":
		event.Type = string(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			r.id = string(value)
		}
	}
}

// splitLine is a bufio.SplitFunc for lines that end with LF, CR LF or CR. It drops a last line
// without an end.
func splitLine(data []byte, atEOF bool) (advance int, line []byte, err error) {
	end := bytes.IndexAny(data, "\r\n")
	switch {
	case end < 0:
		return 0, nil, nil
	case data[end] == '\n':
		return end + 1, data[:end], nil
	case end+1 == len(data) && !atEOF:
		return 0, nil, nil // an LF may follow
	case end+1 < len(data) && data[end+1] == '\n':
		return end + 2, data[:end], nil
	}
	return end + 1, data[:end], nil
}
