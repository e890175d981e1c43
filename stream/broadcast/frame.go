package broadcast

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/stream"
)

// LongLineBytes is the length from which a line is counted and warned of: the line reader of a much
// used client gives up at 65,536 bytes, silently.
const LongLineBytes = 60 << 10

var (
	errLineBreak = errors.New("event is more than one line")
	errTooLong   = errors.New("event is longer than configured")
)

// check says why an event cannot be sent. maxBytes bounds its JSON; 0 for no bound.
func check(event stream.Event, maxBytes int) error {
	switch {
	case bytes.ContainsAny(event.JSON, "\r\n"):
		return errLineBreak
	case maxBytes > 0 && len(event.JSON) > maxBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLong, len(event.JSON), maxBytes)
	}
	return nil
}

// appendFrame adds an event as it is on the wire. There is nothing else on it: no event name, no
// retry time, and an id only for who asked for it, because there are clients that take every other
// line for broken JSON.
func appendFrame(to []byte, event stream.Event, numbered bool) []byte {
	framed := sse.Event{Data: event.JSON}
	if numbered {
		framed.ID = strconv.FormatUint(event.ID, 10)
	}
	return sse.Append(to, framed)
}
