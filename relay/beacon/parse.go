package beacon

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// parseHead reads a head event (beacon-APIs, eventstream).
func parseHead(raw []byte) (head relay.Head, err error) {
	var event struct {
		Slot     string `json:"slot"`
		Block    string `json:"block"`
		Previous string `json:"previous_duty_dependent_root"`
		Current  string `json:"current_duty_dependent_root"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return head, err
	}
	slot, err := strconv.ParseUint(event.Slot, 10, 64)
	if err != nil {
		return head, fmt.Errorf("slot %q", event.Slot)
	}
	head.Slot = phase0.Slot(slot)
	for _, field := range []struct {
		text string
		into []byte
	}{{event.Block, head.Root[:]}, {event.Previous, head.PreviousDependent[:]},
		{event.Current, head.CurrentDependent[:]}} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return head, err
		}
	}
	return head, nil
}
