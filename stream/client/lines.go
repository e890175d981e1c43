package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// message is one event of a stream (HTML Living Standard, 9.2.6) as far as we need it: an event's
// name and the retry time are not used.
type message struct {
	id   string // of the last event that had one
	data []byte
}

// ErrLineTooLong is why a connection ends that sends a longer line, or a longer event in several
// lines, than Options.MaxLineBytes.
var ErrLineTooLong = errors.New("line of the stream is too long")

// messages reads a stream. Lines end with LF, CR LF or CR; what is no field that we know is passed
// over, and so are comments.
type messages struct {
	lines    *bufio.Scanner
	maxBytes int
	id       string
	first    bool
}

func newMessages(from io.Reader, maxLineBytes int) *messages {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, min(4<<10, maxLineBytes)), maxLineBytes)
	lines.Split(splitLine)
	return &messages{lines: lines, maxBytes: maxLineBytes, first: true}
}

// next waits for the next event. At the end of the stream it is io.EOF; an event that the end cuts
// short is dropped.
func (m *messages) next() (message, error) {
	var data []byte
	for m.lines.Scan() {
		line := m.lines.Bytes()
		if m.first {
			m.first, line = false, bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			if data != nil {
				return message{m.id, data[:len(data)-1]}, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if data = append(append(data, value...), '\n'); len(data) > m.maxBytes {
				return message{}, ErrLineTooLong
			}
		case "id":
			if !bytes.ContainsRune(value, 0) {
				m.id = string(value)
			}
		}
	}
	err := m.lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return message{}, ErrLineTooLong
	case err != nil:
		return message{}, fmt.Errorf("read the stream: %w", err)
	}
	return message{}, io.EOF
}

// splitLine is a bufio.SplitFunc for lines of all three kinds. A line that the end of the stream
// cuts short is none.
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
