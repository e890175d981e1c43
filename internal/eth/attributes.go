package eth

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// PayloadAttributes are what a block for a slot on a parent must carry (beacon-APIs, eventstream:
// payload_attributes).
type PayloadAttributes struct {
	Slot         phase0.Slot
	ParentHash   phase0.Hash32
	ParentNumber uint64 // 0 from gloas on, whose announcements do not tell it
	// ParentRoot is the parent beacon block's root: from deneb on part of the execution block's hash.
	ParentRoot  phase0.Root
	Timestamp   uint64 // seconds since 1970
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal // nil before capella
}

// Same says whether two announcements are about the same block to build.
func (a PayloadAttributes) Same(other PayloadAttributes) bool {
	return a.Slot == other.Slot && a.ParentHash == other.ParentHash && a.ParentRoot == other.ParentRoot &&
		a.PrevRandao == other.PrevRandao
}

// number is a field of an announcement in decimal.
type number struct {
	name, text string
	into       *uint64
}

// ParsePayloadAttributes reads the data of an event by the fields that are present, not by its
// version: some nodes send the version of the head and not of the proposal. Lists that only later
// forks have may be missing.
func ParsePayloadAttributes(raw []byte) (a PayloadAttributes, err error) {
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
				SlotNumber  string                `json:"slot_number"`
			} `json:"payload_attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return a, fmt.Errorf("decode payload attributes: %w", err)
	}
	d := event.Data
	slot := d.Attributes.SlotNumber // of gloas only
	numbers := []number{
		{"proposal_slot", d.Slot, (*uint64)(&a.Slot)}, {"timestamp", d.Attributes.Timestamp, &a.Timestamp},
	}
	if slot == "" || d.ParentNumber != "" {
		numbers = append(numbers, number{"parent_block_number", d.ParentNumber, &a.ParentNumber})
	}
	for _, field := range numbers {
		if *field.into, err = strconv.ParseUint(field.text, 10, 64); err != nil {
			return a, fmt.Errorf("decode payload attributes: %s %q", field.name, field.text)
		}
	}
	if slot != "" && slot != d.Slot {
		return a, fmt.Errorf("decode payload attributes: slot_number %q for a proposal in slot %s", slot, d.Slot)
	}
	root := d.ParentRoot
	if d.Attributes.BeaconRoot != "" {
		root = d.Attributes.BeaconRoot // equal to parent_block_root from deneb on; the block's hash contains this one
	}
	for _, field := range []struct {
		name, text string
		into       []byte
	}{
		{"parent_block_hash", d.ParentHash, a.ParentHash[:]}, {"parent_block_root", root, a.ParentRoot[:]},
		{"prev_randao", d.Attributes.PrevRandao, a.PrevRandao[:]},
	} {
		if err := ParseHex(field.text, field.into); err != nil {
			return a, fmt.Errorf("decode payload attributes: %s: %w", field.name, err)
		}
	}
	a.Withdrawals = d.Attributes.Withdrawals
	return a, nil
}
