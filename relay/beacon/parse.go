package beacon

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/capella"
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

// parseAttributes reads a payload_attributes event by the fields that are there: the version that
// some nodes send is that of the head and not of the proposal, and lists that only later forks have
// may be missing.
func parseAttributes(raw []byte) (a relay.Attributes, err error) {
	var event struct {
		Data struct {
			Slot         string `json:"proposal_slot"`
			ParentNumber string `json:"parent_block_number"`
			ParentRoot   string `json:"parent_block_root"`
			ParentHash   string `json:"parent_block_hash"`
			Attributes   struct {
				Timestamp   string                `json:"timestamp"`
				PrevRandao  string                `json:"prev_randao"`
				Withdrawals []*capella.Withdrawal `json:"withdrawals"`
				BeaconRoot  string                `json:"parent_beacon_block_root"`
			} `json:"payload_attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return a, err
	}
	d := event.Data
	for _, field := range []struct {
		name, text string
		into       *uint64
	}{
		{"proposal_slot", d.Slot, (*uint64)(&a.Slot)}, {"parent_block_number", d.ParentNumber, &a.ParentNumber},
		{"timestamp", d.Attributes.Timestamp, &a.Timestamp},
	} {
		if *field.into, err = strconv.ParseUint(field.text, 10, 64); err != nil {
			return a, fmt.Errorf("%s %q", field.name, field.text)
		}
	}
	root := d.ParentRoot
	if d.Attributes.BeaconRoot != "" {
		root = d.Attributes.BeaconRoot // the same from deneb on, and what goes into the block
	}
	for _, field := range []struct {
		name, text string
		into       []byte
	}{
		{"parent_block_hash", d.ParentHash, a.ParentHash[:]}, {"parent_block_root", root, a.ParentRoot[:]},
		{"prev_randao", d.Attributes.PrevRandao, a.PrevRandao[:]},
	} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return a, fmt.Errorf("%s: %w", field.name, err)
		}
	}
	a.Withdrawals = d.Attributes.Withdrawals
	return a, nil
}
