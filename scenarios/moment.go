package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// parseMoment reads "slot 3", "slot 3 +200ms" or "slot 3 -1.5s".
func parseMoment(text string, slots int) (Moment, error) {
	words := strings.Fields(text)
	if len(words) < 2 || len(words) > 3 || words[0] != "slot" {
		return Moment{}, fmt.Errorf("%q is no moment: write it as slot 3 or slot 3 -200ms", text)
	}
	m := Moment{}
	var err error
	if m.Slot, err = parseCount(words[1], 1, slots+1); err != nil {
		return m, fmt.Errorf("slot %w", err)
	}
	if len(words) == 3 {
		if words[2][0] != '+' && words[2][0] != '-' {
			return m, fmt.Errorf("%q is no moment: write the offset with its sign, as in slot 3 +200ms", text)
		}
		m.Offset, err = parseOffset(words[2])
	}
	return m, err
}

func (m Moment) String() string {
	switch {
	case m == Moment{}:
		return "the beginning"
	case m.Offset > 0:
		return fmt.Sprintf("slot %d +%s", m.Slot, formatDuration(m.Offset))
	case m.Offset < 0:
		return fmt.Sprintf("slot %d %s", m.Slot, formatDuration(m.Offset))
	default:
		return fmt.Sprintf("slot %d", m.Slot)
	}
}

// In returns the moment as a time after genesis, for slots of the given length.
func (m Moment) In(slot time.Duration) time.Duration { return time.Duration(m.Slot)*slot + m.Offset }

// parseRange reads "3" or "2..5".
func parseRange(text string, slots int) (Range, error) {
	first, last, found := strings.Cut(text, "..")
	if !found {
		last = first
	}
	var r Range
	var err error
	if r.First, err = parseCount(strings.TrimSpace(first), 1, slots); err != nil {
		return r, fmt.Errorf("slot %w", err)
	}
	if r.Last, err = parseCount(strings.TrimSpace(last), 1, slots); err != nil {
		return r, fmt.Errorf("slot %w", err)
	}
	if r.Last < r.First {
		return r, errors.New("the range ends before it begins: write it as 2..5")
	}
	return r, nil
}

func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Last)
}

// words returns the range as words in a sentence.
func (r Range) words() string {
	switch {
	case r == Range{}:
		return "all slots"
	case r.First == r.Last:
		return "slot " + r.String()
	default:
		return "slots " + r.String()
	}
}
