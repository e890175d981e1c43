package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
)

// The Data API's fields as columns: Eden's tables (public in BigQuery until 2024), exported as
// Parquet or CSV, and the set DVN/3X7X2U of Harvard's Dataverse, whose columns have fewer of the
// same names. BigQuery's NUMERIC is a decimal with nine places.

// plainBidColumns begin with those of every such table of bids.
var plainBidColumns = []string{
	"slot", "builder_pubkey", "value", "timestamp_ms",
	"relay", "block_hash", "parent_hash", "proposer_pubkey", "proposer_fee_recipient", "gas_limit", "gas_used",
	"num_tx", "block_number", "timestamp_s", "optimistic_submission",
}

var plainPayloadColumns = []string{
	"slot", "builder_pubkey", "value", "relay", "block_hash",
	"parent_hash", "proposer_pubkey", "proposer_fee_recipient", "gas_limit", "gas_used", "num_tx", "block_number",
}

// dataverseBlockColumns are those of eth_blocks.parquet.
var dataverseBlockColumns = []string{
	"slot", "builder_pubkey", "bid_value", "relay", "block_hash", "number", "block_value",
}

var edenBidsParquet = Format{
	Name: "eden", Place: Row,
	Doc:         "Eden's table of bids, in Parquet: the Data API's fields with `relay` and `timestamp_s`",
	columns:     append([]string{"relay", "timestamp_s", "block_hash"}, plainBidColumns...),
	needed:      7,
	ReadParquet: readPlainBids("eden"),
}

var edenPayloadsParquet = Format{
	Name: "eden", Place: Row,
	Doc:         "Eden's table of payloads, in Parquet: the Data API's fields with `relay` and `reorged`",
	columns:     append([]string{"reorged"}, plainPayloadColumns...),
	needed:      6,
	ReadParquet: readPlainPayloads("eden", plainPayloadColumns),
}

var dataverseBids = Format{
	Name: "dataverse", Place: Row,
	Doc:     "bids of the Dataverse set DVN/3X7X2U, in Parquet: `slot`, `builder_pubkey`, `value` and `timestamp_ms`",
	columns: plainBidColumns, needed: 4,
	ReadParquet: readPlainBids("dataverse"),
}

var dataverseBlocks = Format{
	Name: "dataverse", Place: Row,
	Doc: "blocks of the same set, in Parquet: with `bid_value`, `block_value` and `relay`; those without a relay are " +
		"bad rows, and `block_value` is not read",
	columns: dataverseBlockColumns, needed: 7,
	ReadParquet: readPlainPayloads("dataverse", dataverseBlockColumns),
}

func readPlainBids(source Text) func(parquet.ReaderAtSeeker, Origin, Sink) error {
	return func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return eachRow(in, plainBidColumns, noBytes, func(at int64, r *parquetRow) error {
			bid, err := r.plainBid(source, from)
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, bid)
		})
	}
}

func (r *parquetRow) plainBid(source Text, from Origin) (*Bid, error) {
	b := &Bid{Source: source, Kind: Submission}
	var ms, seconds Int
	err := r.fill(namedCell{"slot", &b.Slot}, namedCell{"builder_pubkey", &b.Builder}, namedCell{"value", &b.ValueWei},
		namedCell{"timestamp_ms", &ms}, namedCell{"relay", &b.Relay}, namedCell{"block_hash", &b.BlockHash},
		namedCell{"parent_hash", &b.ParentHash}, namedCell{"proposer_pubkey", &b.Proposer},
		namedCell{"proposer_fee_recipient", &b.FeeRecipient}, namedCell{"gas_limit", &b.GasLimit},
		namedCell{"gas_used", &b.GasUsed}, namedCell{"num_tx", &b.NumTx}, namedCell{"block_number", &b.BlockNumber},
		namedCell{"timestamp_s", &seconds}, namedCell{"optimistic_submission", &b.Optimistic})
	if err != nil {
		return nil, err
	}
	if b.Relay == "" {
		b.Relay = Text(from.Relay)
	}
	if ms.Known && ms.V > 0 {
		if b.ReceivedAt, err = msTime(ms.V); err != nil {
			return nil, fmt.Errorf("timestamp_ms: %w", err)
		}
		b.ReceivedUnitUs = Int{1000, true}
		if seconds.Known && seconds.V != ms.V/1000 {
			return nil, fmt.Errorf("timestamp_s is %d, and timestamp_ms %d", seconds.V, ms.V)
		}
	}
	return b, b.check(from.Network)
}

func readPlainPayloads(source Text, names []string) func(parquet.ReaderAtSeeker, Origin, Sink) error {
	return func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return eachRow(in, names, noBytes, func(at int64, r *parquetRow) error {
			delivery, err := r.plainPayload(source, names, from)
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, delivery)
		})
	}
}

// plainPayload fills a delivery by the names that the table's columns have.
func (r *parquetRow) plainPayload(source Text, names []string, from Origin) (*Delivery, error) {
	d := &Delivery{Source: source}
	places := map[string]any{
		"slot": &d.Slot, "builder_pubkey": &d.Builder, "value": &d.ValueWei, "bid_value": &d.ValueWei, "relay": &d.Relay,
		"block_hash": &d.BlockHash, "parent_hash": &d.ParentHash, "proposer_pubkey": &d.Proposer,
		"proposer_fee_recipient": &d.FeeRecipient, "gas_limit": &d.GasLimit, "gas_used": &d.GasUsed, "num_tx": &d.NumTx,
		"block_number": &d.BlockNumber, "number": &d.BlockNumber,
	}
	if r.column("relay").text(r.at) == "" {
		return nil, errLocal
	}
	for _, name := range names {
		into, wanted := places[name]
		if !wanted {
			continue
		}
		if err := r.fill(namedCell{name, into}); err != nil {
			return nil, err
		}
	}
	return d, d.check(from.Network)
}

// plainCSV has the Data API's fields as columns in any order.
var plainCSV = Format{
	Name: "eden", Place: Line,
	Doc: "the same tables in CSV, with a header of the Data API's fields in any order: of bids with `timestamp_ms`, of " +
		"payloads with `relay` and `reorged`",
	begins: func(head []byte) bool {
		first, _, _ := strings.Cut(string(head), "\n")
		names := strings.Split(strings.TrimSuffix(first, "\r"), ",")
		has := func(name string) bool { return slices.Contains(names, name) }
		return has("slot") && has("builder_pubkey") && has("value") &&
			(has("timestamp_ms") || has("relay") && has("reorged"))
	},
	Read: readPlainCSV,
}

var (
	errTwoColumns = errors.New("the header has a column twice")
	errNoTime     = errors.New("timestamp_ms: empty")
)

func readPlainCSV(in io.Reader, from Origin, to Sink) error {
	var names []string
	return eachRecordFrom(in, 0, func(at int64, fields []string) error {
		if names == nil {
			names = slices.Clone(fields)
			if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
				return errTwoColumns
			}
			return nil
		}
		text := strings.Join(fields, ",")
		if len(fields) != len(names) {
			return to.Bad(at, text, fmt.Errorf("%d fields in place of %d", len(fields), len(names)))
		}
		row, err := traceOfFields(names, fields)
		if err != nil {
			return to.Bad(at, text, err)
		}
		return row.put(at, text, "eden", from, to)
	})
}

// traceOfFields reads the fields that a trace has.
func traceOfFields(names, fields []string) (*trace, error) {
	t := &trace{}
	numbers := map[string]*number{
		"slot": &t.Slot, "gas_limit": &t.GasLimit, "gas_used": &t.GasUsed, "value": &t.Value, "num_tx": &t.NumTx,
		"block_number": &t.BlockNumber, "timestamp_s": &t.TimestampS, "timestamp_ms": &t.TimestampMs,
	}
	texts := map[string]*string{
		"parent_hash": &t.ParentHash, "block_hash": &t.BlockHash, "builder_pubkey": &t.BuilderPubkey,
		"proposer_pubkey": &t.ProposerPubkey, "proposer_fee_recipient": &t.ProposerFeeRecipient, "relay": &t.Relay,
	}
	for i, name := range names {
		cell := strings.Clone(fields[i])
		if into := numbers[name]; into != nil {
			*into = number(cell)
		}
		if into := texts[name]; into != nil {
			*into = cell
		}
		if name == "timestamp_ms" && cell == "" { // without a time it would be a payload
			return nil, errNoTime
		}
		if name == "optimistic_submission" && cell != "" {
			flag, err := parseBool(cell)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			t.Optimistic = &flag.V
		}
	}
	t.Timestamp = t.TimestampS
	return t, nil
}
