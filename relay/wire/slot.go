package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// SlotOf finds the slot of a submission without decoding it, so that the fork is known before. The trace comes first in SSZ, the slot first
// in the trace.
func SlotOf(media Media, body []byte) (phase0.Slot, error) {
	if media == JSON {
		return slotInMessage(body)
	}
	return slotAt(body, 0)
}

// SlotOfBlinded finds the slot of a signed blinded block. In SSZ the message follows its offset (4) and the signature (96).
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

// slotInMessage reads message.slot and stops there: what comes before it is skipped, what follows is not read.
func slotInMessage(body []byte) (phase0.Slot, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	for _, name := range []string{"message", "slot"} {
		if err := enter(decoder, name); err != nil {
			return 0, err
		}
	}
	var text string
	if err := decoder.Decode(&text); err != nil {
		return 0, fmt.Errorf("message.slot: %w", err)
	}
	slot, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("message.slot is %.90q: want a decimal number below 2^64", text)
	}
	return phase0.Slot(slot), nil
}

// enter opens an object and goes to the value of a name in it.
func enter(decoder *json.Decoder, name string) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if token != json.Delim('{') {
		return errors.New("not an object")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		if key == name {
			return nil
		}
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
	}
	return fmt.Errorf("no %s", name)
}
