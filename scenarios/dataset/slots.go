package dataset

import (
	"fmt"
	"slices"
)

// Slot is what the chain has for one slot.
type Slot struct {
	Slot                        Int
	SlotStart                   Time
	Source                      Text
	Fork, Outcome, Because      Text
	Relay                       Text
	Proposer, Builder           Key
	BlockHash, ParentHash       Hash
	BlockNumber, GasUsed, NumTx Int
	ValueWei, PaidWei           Wei
}

// Outcomes of slots.
const (
	// Landed: a builder's block is on the chain.
	Landed Text = "landed"
	// Local: the block of the proposer's own node is on the chain.
	Local Text = "local"
	// Missed: the chain has no block.
	Missed Text = "missed"
	// Orphaned: a block was published, and the chain went past it.
	Orphaned Text = "orphaned"
	// Empty: the block is on the chain without its payload (from gloas on).
	Empty Text = "empty"
)

var outcomesOfSlots = []Text{Landed, Local, Missed, Orphaned, Empty}

// Slots is the table of what the chain has.
var Slots = &Table[Slot]{
	Name:  "slots",
	Doc:   "What the chain has for each slot. A replay does not read it.",
	check: (*Slot).check,
	At:    func(_ Network, s *Slot) int64 { return s.SlotStart.Micros },
	Columns: []Column[Slot]{
		{"slot", "slot", "", func(s *Slot) any { return &s.Slot }},
		{"slot_start", "UTC", "when the slot begins", func(s *Slot) any { return &s.SlotStart }},
		{"source", "", "the format that the row is from", func(s *Slot) any { return &s.Source }},
		{"fork", "", "the fork of the slot", func(s *Slot) any { return &s.Fork }},
		{"outcome", "", "`landed` (a builder's block), `local` (of the proposer's own node), `missed`, `orphaned`, or " +
			"`empty` (a block without its payload)", func(s *Slot) any { return &s.Outcome }},
		{"because", "", "why the slot is empty", func(s *Slot) any { return &s.Because }},
		{"relay", "", "the relay that delivered the payload", func(s *Slot) any { return &s.Relay }},
		{"proposer_pubkey", "0x, 48 bytes", "", func(s *Slot) any { return &s.Proposer }},
		{"builder_pubkey", "0x, 48 bytes", "", func(s *Slot) any { return &s.Builder }},
		{"block_hash", "0x, 32 bytes", "the payload's hash", func(s *Slot) any { return &s.BlockHash }},
		{"parent_hash", "0x, 32 bytes", "", func(s *Slot) any { return &s.ParentHash }},
		{"block_number", "block", "", func(s *Slot) any { return &s.BlockNumber }},
		{"gas_used", "gas", "", func(s *Slot) any { return &s.GasUsed }},
		{"num_tx", "transactions", "", func(s *Slot) any { return &s.NumTx }},
		{"value_wei", "wei", "what the proposer was promised", func(s *Slot) any { return &s.ValueWei }},
		{"paid_wei", "wei", "by how much the block's transactions raised the balance of " +
			"the proposer's fee recipient; null if another block pays a part, as for bids from a stake",
			func(s *Slot) any { return &s.PaidWei }},
	},
}

// check completes a row and says why it cannot be one.
func (s *Slot) check(n Network) error {
	if err := checkSlot(s.Slot); err != nil {
		return err
	}
	if !slices.Contains(outcomesOfSlots, s.Outcome) {
		return fmt.Errorf("outcome %q is none of %q", cut(string(s.Outcome)), outcomesOfSlots)
	}
	s.SlotStart = Time{n.startMicros(s.Slot.V), true}
	return nil
}
