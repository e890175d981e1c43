package dataset

import (
	"errors"
	"fmt"
)

// Delivery is a payload that a relay lists as delivered.
type Delivery struct {
	Slot                           Int
	SlotStart                      Time
	DeliveredAt, ObservedAt        Time
	Source, Relay                  Text
	ValueWei, PaidWei              Wei
	BlockHash, ParentHash          Hash
	Builder, Proposer              Key
	FeeRecipient                   Address
	BlockNumber, GasLimit, GasUsed Int
	NumTx, NumBlobs                Int
}

// Deliveries is the table of delivered payloads.
var Deliveries = &Table[Delivery]{
	Name:  "deliveries",
	Doc:   "Payloads that relays list as delivered. One payload may be in the lists of several relays.",
	Seen:  func(d *Delivery) *Time { return &d.ObservedAt },
	Relay: func(d *Delivery) *Text { return &d.Relay },
	check: (*Delivery).check,
	At:    func(_ Network, d *Delivery) int64 { return d.SlotStart.Micros },
	Columns: []Column[Delivery]{
		{"slot", "slot", "", func(d *Delivery) any { return &d.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(d *Delivery) any { return &d.SlotStart }},
		{"delivered_at", "UTC, relay's clock", "when the relay delivered it", func(d *Delivery) any {
			return &d.DeliveredAt
		}},
		{"observed_at", "UTC, collector's clock", "when a collector first saw it in the list",
			func(d *Delivery) any { return &d.ObservedAt }},
		{"source", "", "the format that the row is from", func(d *Delivery) any { return &d.Source }},
		{"relay", "", "the relay's name or host", func(d *Delivery) any { return &d.Relay }},
		{"value_wei", "wei", "what the bid promised the proposer", func(d *Delivery) any { return &d.ValueWei }},
		{"paid_wei", "wei", "what the block pays, as an execution found", func(d *Delivery) any { return &d.PaidWei }},
		{"block_hash", "0x, 32 bytes", "", func(d *Delivery) any { return &d.BlockHash }},
		{"parent_hash", "0x, 32 bytes", "hash of the parent block", func(d *Delivery) any { return &d.ParentHash }},
		{"builder_pubkey", "0x, 48 bytes", "", func(d *Delivery) any { return &d.Builder }},
		{"proposer_pubkey", "0x, 48 bytes", "", func(d *Delivery) any { return &d.Proposer }},
		{"proposer_fee_recipient", "0x, 20 bytes", "whom the proposer wants paid",
			func(d *Delivery) any { return &d.FeeRecipient }},
		{"block_number", "block", "", func(d *Delivery) any { return &d.BlockNumber }},
		{"gas_limit", "gas", "", func(d *Delivery) any { return &d.GasLimit }},
		{"gas_used", "gas", "", func(d *Delivery) any { return &d.GasUsed }},
		{"num_tx", "transactions", "", func(d *Delivery) any { return &d.NumTx }},
		{"num_blobs", "blobs", "", func(d *Delivery) any { return &d.NumBlobs }},
	},
}

// check completes a row and says why it cannot be one.
func (d *Delivery) check(n Network) error {
	if err := checkSlot(d.Slot); err != nil {
		return err
	}
	if !d.ValueWei.Known {
		return errNoValue
	}
	d.SlotStart = Time{n.startMicros(d.Slot.V), true}
	return n.checkTime("delivered_at", d.Slot.V, d.DeliveredAt)
}

var errNoValue = errors.New("no value")

func checkSlot(slot Int) error {
	if !slot.Known {
		return errors.New("no slot")
	}
	if slot.V < 0 {
		return fmt.Errorf("slot %d: %w", slot.V, errNotInt)
	}
	if slot.V >= maxSlot {
		return fmt.Errorf("slot %d is beyond 2^36", slot.V)
	}
	return nil
}
