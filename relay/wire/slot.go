package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// SlotOf finds the slot of a submission, or of a header submission, before it is decoded, because
// the slot's fork says how to decode it. In SSZ the trace comes first, and the slot is first in the
// trace.
func SlotOf(media Media, body []byte) (phase0.Slot, error) {
	if media == JSON {
		return slotInMessage(body)
	}
	return slotAt(body, 0)
}

// SlotOfBlinded finds the slot of a signed blinded block. In SSZ the message follows its offset (4)
// and the signature (96).
func SlotOfBlinded(media Media, body []byte) (phase0.Slot, error) {
	if media == JSON {
		return slotInMessage(body)
	}
	return slotAt(body, 100)
}

func slotAt(body []byte, offset int) (phase0.Slot, error) {
	if len(body) < offset+8 {
		return 0, fmt.Errorf("%d bytes are too few to hold a slot", len(body))
	}
	return phase0.Slot(binary.LittleEndian.Uint64(body[offset:])), nil
}

// errFound ends a search that has found its name.
var errFound = errors.New("found")

// slotInMessage reads message.slot. It skips what comes before and does not read what follows.
// Builders write the message first; if it comes last, skipping costs less than a tenth of decoding.
func slotInMessage(body []byte) (slot phase0.Slot, err error) {
	c := newCursor(body)
	err = c.search("message", func() error {
		return c.search("slot", func() error {
			return number("slot", func(s *phase0.Slot) *phase0.Slot { return s }).read(&c, &slot)
		})
	})
	return slot, err
}

// search finds a name in the object at the cursor, and reads its value.
func (c *cursor) search(name string, read func() error) error {
	if c.Peek() != '{' {
		return fmt.Errorf("no object around %s: %w", name, c.failKind(object))
	}
	err := c.Members(func(other []byte) error {
		if string(other) != name {
			_, err := c.Raw()
			return err
		}
		if err := read(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err == nil:
		return fmt.Errorf("no %s", name)
	}
	return err
}
