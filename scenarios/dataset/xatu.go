package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		return readXatu(in, xatuBidColumns, from, func(at int64, r *xatuRow) error {
			bid, err := r.bid()
			if err == nil {
				err = bid.check(from.Network)
			}
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Bid(at, bid)
		}, to)
	},
}

var xatuDelivered = Format{
	Name: "xatu", Place: Row,
	Doc:     "xatu's table `mev_relay_proposer_payload_delivered`, in Parquet",
	columns: xatuDeliveredColumns, needed: 6,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return readXatu(in, xatuDeliveredColumns, from, func(at int64, r *xatuRow) error {
			delivery, err := r.delivery()
			if err == nil {
				err = delivery.check(from.Network)
			}
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Delivery(at, delivery)
		}, to)
	},
}

// xatuRow is a row of the current batch.
type xatuRow struct {
	*columns
	at    int
	order byteOrder
}

func (r *xatuRow) column(name string) *column { return r.open[r.places[name]] }

// String is what the row has, for the file of bad rows.
func (r *xatuRow) String() string {
	var cells []string
	for _, c := range r.open {
		if !c.known(r.at) {
			continue
		}
		switch c.kind {
		case parquet.Types.Int32, parquet.Types.Int64:
			cells = append(cells, fmt.Sprintf("%s=%d", c.name, c.ints[c.index[r.at]]))
		case parquet.Types.Boolean:
			cells = append(cells, fmt.Sprintf("%s=%t", c.name, c.flags[c.index[r.at]]))
		case parquet.Types.Double:
			cells = append(cells, fmt.Sprintf("%s=%v", c.name, c.doubles[c.index[r.at]]))
		case parquet.Types.FixedLenByteArray:
			if c.name == "value" {
				cells = append(cells, fmt.Sprintf("value=%#x", c.bytes(r.at)))
				continue
			}
			cells = append(cells, fmt.Sprintf("%s=%q", c.name, c.text(r.at)))
		default:
			cells = append(cells, fmt.Sprintf("%s=%q", c.name, c.text(r.at)))
		}
	}
	return strings.Join(cells, " ")
}

// readXatu reads the rows of a table. It reads the values twice: first to find out their byte
// order.
func readXatu(in parquet.ReaderAtSeeker, names []string, from Origin, row func(int64, *xatuRow) error, to Sink) error {
	order, err := orderOfValues(in)
	if err != nil {
		return err
	}
	cols, err := openColumns(in, names)
	if err != nil {
		return err
	}
	r := xatuRow{columns: cols, order: order}
	at := int64(0)
	for {
		n, err := cols.next()
		if err != nil || n == 0 {
			if err != nil {
				err = fmt.Errorf("after row %d: %w", at, err)
			}
			return err
		}
		for r.at = range n {
			at++
			if name := r.column("meta_network_name").text(r.at); name != "" && name != from.Network.Name {
				err = to.Bad(at, r.String(), fmt.Errorf("the row is of the network %q", cut(name)))
			} else {
				err = row(at, &r)
			}
			if err != nil {
				return err
			}
		}
	}
}

// byteOrder is the order of the bytes in a column of 32-byte numbers.
type byteOrder int

const (
	// noBytes: the column is decimal text, or an integer of Parquet.
	noBytes byteOrder = iota
	littleEndian
	bigEndian
)

var (
	errMixedOrders = errors.New("value: some numbers are below 10^38 only in big-endian order, others only in " +
		"little-endian order")
	errNoOrder = errors.New("value: no number is below 10^38 in exactly one byte order, so that the order cannot " +
		"be known")
)

// orderOfValues finds out in which order the bytes of the values are. ClickHouse writes a UInt256
// with the least byte first, while Parquet's decimals have it last. An amount below 10^38 wei read
// in the wrong order is at least 2^128 (unless it is 0), and so not an amount: each value but 0
// says which order it has. All of a file must say the same.
func orderOfValues(in parquet.ReaderAtSeeker) (byteOrder, error) {
	cols, err := openColumns(in, []string{"value"})
	if err != nil {
		return noBytes, err
	}
	value := cols.open[0]
	if value.kind != parquet.Types.FixedLenByteArray {
		return noBytes, nil
	}
	little, big, rows := 0, 0, 0
	for {
		n, err := cols.next()
		if err != nil {
			return noBytes, err
		}
		if n == 0 {
			break
		}
		for i := range n {
			raw := value.bytes(i)
			if len(bytes.Trim(raw, "\x00")) == 0 {
				continue
			}
			rows++
			_, asBig := weiOfBytes(raw)
			_, asLittle := weiOfBytes(reversed(raw))
			switch {
			case asBig == nil && asLittle != nil:
				big++
			case asLittle == nil && asBig != nil:
				little++
			}
		}
	}
	switch {
	case little > 0 && big > 0:
		return noBytes, errMixedOrders
	case little == 0 && big == 0 && rows > 0:
		return noBytes, errNoOrder
	case big > 0:
		return bigEndian, nil
	}
	return littleEndian, nil
}

func reversed(raw []byte) []byte {
	raw = slices.Clone(raw)
	slices.Reverse(raw)
	return raw
}

func (r *xatuRow) wei() (Wei, error) {
	value := r.column("value")
	if r.order == littleEndian && value.known(r.at) {
		return weiOfBytes(reversed(value.bytes(r.at)))
	}
	return value.wei(r.at)
}

// fill puts cells into a row of a table. Columns that the file lacks stay null.
func (r *xatuRow) fill(cells ...xatuCell) error {
	for _, c := range cells {
		if err := r.column(c.name).fill(c.into, r.at); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

type xatuCell struct {
	name string
	into any
}

func (r *xatuRow) bid() (*Bid, error) {
	b := &Bid{Source: "xatu", Kind: Submission}
	var ms Int
	err := r.fill(xatuCell{"slot", &b.Slot}, xatuCell{"relay_name", &b.Relay}, xatuCell{"block_hash", &b.BlockHash},
		xatuCell{"parent_hash", &b.ParentHash}, xatuCell{"builder_pubkey", &b.Builder}, xatuCell{"timestamp_ms", &ms},
		xatuCell{"event_date_time", &b.ObservedAt}, xatuCell{"proposer_pubkey", &b.Proposer},
		xatuCell{"proposer_fee_recipient", &b.FeeRecipient}, xatuCell{"gas_limit", &b.GasLimit},
		xatuCell{"gas_used", &b.GasUsed}, xatuCell{"num_tx", &b.NumTx}, xatuCell{"block_number", &b.BlockNumber},
		xatuCell{"optimistic_submission", &b.Optimistic})
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

func (r *xatuRow) delivery() (*Delivery, error) {
	d := &Delivery{Source: "xatu"}
	err := r.fill(xatuCell{"slot", &d.Slot}, xatuCell{"relay_name", &d.Relay}, xatuCell{"block_hash", &d.BlockHash},
		xatuCell{"builder_pubkey", &d.Builder}, xatuCell{"event_date_time", &d.ObservedAt},
		xatuCell{"proposer_pubkey", &d.Proposer}, xatuCell{"proposer_fee_recipient", &d.FeeRecipient},
		xatuCell{"gas_limit", &d.GasLimit}, xatuCell{"gas_used", &d.GasUsed}, xatuCell{"num_tx", &d.NumTx},
		xatuCell{"block_number", &d.BlockNumber})
	if err != nil {
		return nil, err
	}
	if d.ValueWei, err = r.wei(); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return d, nil
}
