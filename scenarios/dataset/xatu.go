package dataset

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
)

// The tables of xatu, as they are published in Parquet (ethpandaops/xatu-data,
// schema/mev_relay_.md). Its collector polls the relays' Data API, so that a bid is there once for
// each poll that saw it.

// The columns that are read; the first ones are in every file of the table.
var xatuBidColumns = []string{
	"slot", "relay_name", "block_hash", "builder_pubkey", "value", "parent_hash", "timestamp_ms",
	"event_date_time", "proposer_pubkey", "proposer_fee_recipient", "gas_limit", "gas_used", "num_tx", "block_number",
	"optimistic_submission", "meta_network_name",
}

var xatuDeliveredColumns = []string{
	"slot", "relay_name", "block_hash", "builder_pubkey", "value", "wallclock_slot",
	"event_date_time", "proposer_pubkey", "proposer_fee_recipient", "gas_limit", "gas_used", "num_tx", "block_number",
	"meta_network_name",
}

var xatuBids = Format{
	Name: "xatu", Place: Row,
	Doc:     "xatu's table `mev_relay_bid_trace`, in Parquet",
	columns: xatuBidColumns, needed: 7,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return readXatu(in, xatuBidColumns, from, func(at int64, r *parquetRow) error {
			bid, err := r.bid()
			if err == nil {
				err = bid.check(from.Network)
			}
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, bid)
		}, to)
	},
}

var xatuDelivered = Format{
	Name: "xatu", Place: Row,
	Doc:     "xatu's table `mev_relay_proposer_payload_delivered`, in Parquet",
	columns: xatuDeliveredColumns, needed: 6,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return readXatu(in, xatuDeliveredColumns, from, func(at int64, r *parquetRow) error {
			delivery, err := r.delivery()
			if err == nil {
				err = delivery.check(from.Network)
			}
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, delivery)
		}, to)
	},
}

// readXatu reads the rows of a table. It reads the values twice: first to find out their byte
// order.
func readXatu(in parquet.ReaderAtSeeker, names []string, from Origin, row func(int64, *parquetRow) error,
	to Sink) error {
	order, err := orderOfValues(in, from, to)
	if err != nil {
		return err
	}
	return eachRow(in, names, order, func(at int64, r *parquetRow) error {
		if name := r.column("meta_network_name").text(r.at); name != "" && name != from.Network.Name {
			return to.Bad(at, r.String(), fmt.Errorf("the row is of the network %q", cut(name)))
		}
		return row(at, r)
	})
}

func (r *parquetRow) bid() (*Bid, error) {
	b := &Bid{Source: "xatu", Kind: Submission}
	var ms Int
	err := r.fill(namedCell{"slot", &b.Slot}, namedCell{"relay_name", &b.Relay}, namedCell{"block_hash", &b.BlockHash},
		namedCell{"parent_hash", &b.ParentHash}, namedCell{"builder_pubkey", &b.Builder}, namedCell{"timestamp_ms", &ms},
		namedCell{"event_date_time", &b.ObservedAt}, namedCell{"proposer_pubkey", &b.Proposer},
		namedCell{"proposer_fee_recipient", &b.FeeRecipient}, namedCell{"gas_limit", &b.GasLimit},
		namedCell{"gas_used", &b.GasUsed}, namedCell{"num_tx", &b.NumTx}, namedCell{"block_number", &b.BlockNumber},
		namedCell{"optimistic_submission", &b.Optimistic})
	if err != nil {
		return nil, err
	}
	if ms.Known && ms.V > 0 {
		if b.ReceivedAt, err = msTime(ms.V); err != nil {
			return nil, fmt.Errorf("timestamp_ms: %w", err)
		}
		b.ReceivedUnitUs = Int{1000, true}
	}
	if b.ValueWei, err = r.wei(); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return b, nil
}

func (r *parquetRow) delivery() (*Delivery, error) {
	d := &Delivery{Source: "xatu"}
	err := r.fill(namedCell{"slot", &d.Slot}, namedCell{"relay_name", &d.Relay}, namedCell{"block_hash", &d.BlockHash},
		namedCell{"builder_pubkey", &d.Builder}, namedCell{"event_date_time", &d.ObservedAt},
		namedCell{"proposer_pubkey", &d.Proposer}, namedCell{"proposer_fee_recipient", &d.FeeRecipient},
		namedCell{"gas_limit", &d.GasLimit}, namedCell{"gas_used", &d.GasUsed}, namedCell{"num_tx", &d.NumTx},
		namedCell{"block_number", &d.BlockNumber})
	if err != nil {
		return nil, err
	}
	if d.ValueWei, err = r.wei(); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return d, nil
}
