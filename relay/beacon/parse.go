package beacon

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// parseHead reads a head event (beacon-APIs, eventstream).
func parseHead(raw []byte) (relay.Head, error) {
	var event struct {
		Slot     string `json:"slot"`
		Block    string `json:"block"`
		Previous string `json:"previous_duty_dependent_root"`
		Current  string `json:"current_duty_dependent_root"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return relay.Head{}, err
	}
	return readHead(event.Slot, event.Block, event.Previous, event.Current)
}

// parseHeadV2 reads a head_v2 event (beacon-APIs, eventstream), which takes the place of head from
// gloas on. Its dependent roots are named by the epoch whose duties depend on them.
func parseHeadV2(raw []byte) (relay.Head, error) {
	var event struct {
		Data struct {
			Slot    string `json:"slot"`
			Block   string `json:"block"`
			Current string `json:"current_epoch_dependent_root"`
			Next    string `json:"next_epoch_dependent_root"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return relay.Head{}, err
	}
	return readHead(event.Data.Slot, event.Data.Block, event.Data.Current, event.Data.Next)
}

// slotBlock is a block that a node has imported.
type slotBlock struct {
	Slot phase0.Slot
	Root phase0.Root
}

// parseBlock reads a block event (beacon-APIs, eventstream).
func parseBlock(raw []byte) (block slotBlock, err error) {
	var event struct {
		Slot  string `json:"slot"`
		Block string `json:"block"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return block, err
	}
	slot, err := strconv.ParseUint(event.Slot, 10, 64)
	if err != nil {
		return block, fmt.Errorf("slot %q", event.Slot)
	}
	block.Slot = phase0.Slot(slot)
	return block, eth.ParseHex(event.Block, block.Root[:])
}

func readHead(slotText, block, previous, current string) (head relay.Head, err error) {
	slot, err := strconv.ParseUint(slotText, 10, 64)
	if err != nil {
		return head, fmt.Errorf("slot %q", slotText)
	}
	head.Slot = phase0.Slot(slot)
	for _, field := range []struct {
		text string
		into []byte
	}{{block, head.Root[:]}, {previous, head.PreviousDependent[:]}, {current, head.CurrentDependent[:]}} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return head, err
		}
	}
	return head, nil
}

// parsePreferences reads a proposer_preferences event (beacon-APIs, eventstream).
func parsePreferences(raw []byte) (*gloas.SignedProposerPreferences, error) {
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return nil, err
	}
	return gloas.Mainnet.SignedProposerPreferences.FromJSON(event.Data)
}
