package dataset

import "io"

// littleWei is an amount in xatu's tables: 32 bytes, the least first, as ClickHouse writes it.
type littleWei Wei

var exportXatu = ExportFormat{
	Name: "xatu",
	Doc: "xatu's tables of bid traces and delivered payloads, in Parquet, with those of their columns that the data set " +
		"knows; `value` has 32 bytes, the least first",
	Tables: []AnyOutgoing{
		Outgoing[Bid]{
			Bids, "mev_relay_bid_trace.parquet", tellXatuBid, func(n Network, out io.Writer) (RowWriter[Bid], error) {
				return NewWriter(xatuBidTable(n), n, out)
			},
		},
		Outgoing[Delivery]{
			Deliveries, "mev_relay_proposer_payload_delivered.parquet", tellXatuDelivery,
			func(n Network, out io.Writer) (RowWriter[Delivery], error) {
				return NewWriter(xatuDeliveryTable(n), n, out)
			},
		},
	},
}

func tellXatuBid(b Bid) (Bid, string) {
	switch {
	case b.Kind != Submission:
		return Bid{}, whyKind
	case b.Refusal != "":
		return Bid{}, whyRefused
	}
	told := Bid{
		Slot: b.Slot, SlotStart: b.SlotStart, ReceivedAt: onlyMillis(b.ReceivedAt), ObservedAt: b.ObservedAt,
		Source: b.Source, Kind: b.Kind, Relay: b.Relay, ValueWei: b.ValueWei, BlockHash: b.BlockHash,
		ParentHash: b.ParentHash, Builder: b.Builder, Proposer: b.Proposer, FeeRecipient: b.FeeRecipient,
		BlockNumber: b.BlockNumber, GasLimit: b.GasLimit, GasUsed: b.GasUsed, NumTx: b.NumTx, Optimistic: b.Optimistic,
	}
	if b.ReceivedAt.Known {
		told.ReceivedUnitUs = Int{1000, true}
	}
	return told, ""
}

func tellXatuDelivery(d Delivery) (Delivery, string) {
	d.DeliveredAt, d.PaidWei, d.ParentHash, d.NumBlobs = Time{}, Wei{}, Hash{}, Int{}
	return d, ""
}

// slotsPerEpoch is that of the public networks, whose tables xatu has.
const slotsPerEpoch = 32

// xatuSlot are the columns of a slot that both tables have. The slot at which xatu's clock stood is
// not known.
func xatuSlot[R any](n Network, slot func(*R) *Int, start, seen func(*R) *Time) []Column[R] {
	epoch := func(r *R) Int { return Int{slot(r).V / slotsPerEpoch, slot(r).Known} }
	return []Column[R]{
		{Name: "event_date_time", Cell: func(r *R) any { return seen(r) }},
		{Name: "slot", Cell: func(r *R) any { return slot(r) }},
		{Name: "slot_start_date_time", Cell: func(r *R) any { return start(r) }},
		{Name: "epoch", Cell: func(r *R) any { e := epoch(r); return &e }},
		{Name: "epoch_start_date_time", Cell: func(r *R) any {
			return &Time{n.startMicros(epoch(r).V * slotsPerEpoch), slot(r).Known}
		}},
		{Name: "meta_network_name", Cell: func(*R) any { name := Text(n.Name); return &name }},
	}
}

func xatuBidTable(n Network) *Table[Bid] {
	columns := xatuSlot(n, func(b *Bid) *Int { return &b.Slot }, func(b *Bid) *Time { return &b.SlotStart },
		func(b *Bid) *Time { return &b.ObservedAt })
	return &Table[Bid]{Name: "mev_relay_bid_trace", Columns: append(columns, []Column[Bid]{
		{Name: "relay_name", Cell: func(b *Bid) any { return &b.Relay }},
		{Name: "parent_hash", Cell: func(b *Bid) any { return &b.ParentHash }},
		{Name: "block_number", Cell: func(b *Bid) any { return &b.BlockNumber }},
		{Name: "block_hash", Cell: func(b *Bid) any { return &b.BlockHash }},
		{Name: "builder_pubkey", Cell: func(b *Bid) any { return &b.Builder }},
		{Name: "proposer_pubkey", Cell: func(b *Bid) any { return &b.Proposer }},
		{Name: "proposer_fee_recipient", Cell: func(b *Bid) any { return &b.FeeRecipient }},
		{Name: "gas_limit", Cell: func(b *Bid) any { return &b.GasLimit }},
		{Name: "gas_used", Cell: func(b *Bid) any { return &b.GasUsed }},
		{Name: "value", Cell: func(b *Bid) any { return (*littleWei)(&b.ValueWei) }},
		{Name: "num_tx", Cell: func(b *Bid) any { return &b.NumTx }},
		{Name: "timestamp", Cell: func(b *Bid) any { return &Int{b.ReceivedAt.Micros / 1e6, b.ReceivedAt.Known} }},
		{Name: "timestamp_ms", Cell: func(b *Bid) any { ms := millis(b.ReceivedAt); return &ms }},
		{Name: "optimistic_submission", Cell: func(b *Bid) any { return &b.Optimistic }},
	}...)}
}

func xatuDeliveryTable(n Network) *Table[Delivery] {
	columns := xatuSlot(n, func(d *Delivery) *Int { return &d.Slot }, func(d *Delivery) *Time { return &d.SlotStart },
		func(d *Delivery) *Time { return &d.ObservedAt })
	return &Table[Delivery]{Name: "mev_relay_proposer_payload_delivered", Columns: append(columns, []Column[Delivery]{
		{Name: "wallclock_slot", Cell: func(*Delivery) any { return &Int{} }},
		{Name: "block_number", Cell: func(d *Delivery) any { return &d.BlockNumber }},
		{Name: "relay_name", Cell: func(d *Delivery) any { return &d.Relay }},
		{Name: "block_hash", Cell: func(d *Delivery) any { return &d.BlockHash }},
		{Name: "proposer_pubkey", Cell: func(d *Delivery) any { return &d.Proposer }},
		{Name: "builder_pubkey", Cell: func(d *Delivery) any { return &d.Builder }},
		{Name: "proposer_fee_recipient", Cell: func(d *Delivery) any { return &d.FeeRecipient }},
		{Name: "gas_limit", Cell: func(d *Delivery) any { return &d.GasLimit }},
		{Name: "gas_used", Cell: func(d *Delivery) any { return &d.GasUsed }},
		{Name: "value", Cell: func(d *Delivery) any { return (*littleWei)(&d.ValueWei) }},
		{Name: "num_tx", Cell: func(d *Delivery) any { return &d.NumTx }},
	}...)}
}
