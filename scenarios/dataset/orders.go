package dataset

import (
	"errors"
	"fmt"
	"slices"
)

// Order is the life of one order at a bundle RPC: when it passed each step, null if it did not.
type Order struct {
	Slot                             Int
	SlotStart, ReceivedAt            Time
	SimulatedAt, SharedAt, MatchedAt Time
	SentAt, EndedAt                  Time
	Source, Service, Kind            Text
	Hash, Follows                    Hash
	Signer                           Address
	Builders                         Int
	State, Reason                    Text
	BlockNumber                      Int
	BlockHash                        Hash
	ValueWei, RefundWei              Wei
}

// States of orders that others look at.
const (
	// OrderAlive: its life has not ended.
	OrderAlive Text = "alive"
	// OrderLanded: it is in a block of the chain.
	OrderLanded Text = "landed"
)

// orderStates are how an order's life ended, or that it had not.
var orderStates = []Text{OrderAlive, OrderLanded, "expired", "cancelled", "failed"}

// Orders is the table of orders.
var Orders = &Table[Order]{
	Name: "orders",
	Doc: "Orders that a bundle RPC accepted, a row for each: the steps that it passed, and how it ended. A replay does " +
		"not read them.",
	check: (*Order).check,
	At:    func(_ Network, o *Order) int64 { return o.SlotStart.Micros },
	Columns: []Column[Order]{
		{"slot", "slot", "the slot in which the order came", func(o *Order) any { return &o.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(o *Order) any { return &o.SlotStart }},
		{"received_at", "UTC, RPC's clock", "when the RPC accepted it", func(o *Order) any { return &o.ReceivedAt }},
		{"simulated_at", "UTC, RPC's clock", "when a simulation first succeeded",
			func(o *Order) any { return &o.SimulatedAt }},
		{"shared_at", "UTC, RPC's clock", "when its hint was told", func(o *Order) any { return &o.SharedAt }},
		{"matched_at", "UTC, RPC's clock", "when the first order that follows it was accepted",
			func(o *Order) any { return &o.MatchedAt }},
		{"sent_at", "UTC, RPC's clock", "when a builder first took it", func(o *Order) any { return &o.SentAt }},
		{"ended_at", "UTC, RPC's clock", "when its life ended", func(o *Order) any { return &o.EndedAt }},
		{"source", "", "the format that the row is from", func(o *Order) any { return &o.Source }},
		{"service", "", "the RPC's name", func(o *Order) any { return &o.Service }},
		{"kind", "", "`bundle`, `private-transaction` or `share` (`mev_sendBundle`)", func(o *Order) any { return &o.Kind }},
		{"order_hash", "0x, 32 bytes", "", func(o *Order) any { return &o.Hash }},
		{"follows_hash", "0x, 32 bytes", "the order whose hint it follows", func(o *Order) any { return &o.Follows }},
		{"signer", "0x, 20 bytes", "who signed the request", func(o *Order) any { return &o.Signer }},
		{"builders", "builders", "how many builders took it", func(o *Order) any { return &o.Builders }},
		{"state", "", "`alive`, `landed`, `expired`, `cancelled` or `failed`", func(o *Order) any { return &o.State }},
		{"reason", "", "why it failed, as the RPC says", func(o *Order) any { return &o.Reason }},
		{"block_number", "block", "where it landed", func(o *Order) any { return &o.BlockNumber }},
		{"block_hash", "0x, 32 bytes", "where it landed", func(o *Order) any { return &o.BlockHash }},
		{"value_wei", "wei", "what the block's fee recipient earned by it", func(o *Order) any { return &o.ValueWei }},
		{"refund_wei", "wei", "what was paid back for it, or for what followed it",
			func(o *Order) any { return &o.RefundWei }},
	},
}

var errNoOrderHash = errors.New("no order_hash or received_at")

// check completes a row and says why it cannot be one. Its slot is the one in which it came.
func (o *Order) check(n Network) error {
	if err := checkSlot(o.Slot); err != nil {
		return err
	}
	switch {
	case !o.Hash.Known || !o.ReceivedAt.Known:
		return errNoOrderHash
	case !slices.Contains(orderStates, o.State):
		return fmt.Errorf("state %q is none of %q", cut(string(o.State)), orderStates)
	}
	o.SlotStart = Time{n.startMicros(o.Slot.V), true}
	return errors.Join(n.checkTime("received_at", o.Slot.V, o.ReceivedAt),
		n.checkTime("simulated_at", o.Slot.V, o.SimulatedAt), n.checkTime("shared_at", o.Slot.V, o.SharedAt),
		n.checkTime("matched_at", o.Slot.V, o.MatchedAt), n.checkTime("sent_at", o.Slot.V, o.SentAt),
		n.checkTime("ended_at", o.Slot.V, o.EndedAt))
}
