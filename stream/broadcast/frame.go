package broadcast

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/stream"
)

// LongLineBytes is the length above which an event is counted as long and logged, because the line
// reader of a widely used client silently stops at 65,536 bytes.
const LongLineBytes = 60 << 10

var (
	errLineBreak = errors.New("event is more than one line")
	errTooLong   = errors.New("event is longer than configured")
)

// check returns why an event cannot be sent; nil if it can. maxBytes bounds its JSON; 0 is no
// bound.
func check(event stream.Event, maxBytes int) error {
	switch {
	case bytes.ContainsAny(event.JSON, "\r\n"):
		return errLineBreak
	case maxBytes > 0 && len(event.JSON) > maxBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, len(event.JSON), maxBytes)
	}
	return nil
}

// appendFrame appends an event in its form on the wire: without event name and retry time, and with
// an id only for listeners that asked for ids. Some clients take every line but the data for broken
// JSON.
func appendFrame(to []byte, event stream.Event, numbered bool) []byte {
	framed := sse.Event{Data: event.JSON}
	if numbered {
		framed.ID = strconv.FormatUint(event.ID, 10)
	}
	return sse.Append(to, framed)
}
