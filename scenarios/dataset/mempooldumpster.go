package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
)

// mempoolCSVColumns are the columns of mempool-dumpster's CSV (flashbots/mempool-dumpster,
// common/txsummary.go). Older files have fewer, and all have the first ones.
var mempoolCSVColumns = []string{
	"timestamp_ms", "hash", "chain_id", "from", "to", "value", "nonce", "gas", "gas_price", "gas_tip_cap", "gas_fee_cap",
	"data_size", "data_4bytes", "sources", "included_at_block_height", "included_block_timestamp_ms",
	"inclusion_delay_ms", "tx_type",
}

// mempoolCollectorColumns are those of the file that a collector writes.
var mempoolCollectorColumns = []string{"timestamp_ms", "hash", "raw_tx"}

// mempoolColumns are the columns of its Parquet files, the needed ones first.
var mempoolColumns = []string{
	"timestamp", "hash", "chainId", "from", "to", "value", "nonce", "gas", "gasTipCap", "gasFeeCap", "gasPrice", "txType",
	"dataSize", "data4Bytes", "sources", "includedAtBlockHeight", "includedBlockTimestamp", "inclusionDelayMs", "rawTx",
}

const mempoolSource Text = "mempool-dumpster"

var mempoolCSV = Format{
	Name: string(mempoolSource), Place: Line,
	Doc: "transactions of mempool-dumpster, in CSV: they have no raw transaction",
	begins: func(head []byte) bool {
		return slices.Equal(firstOf(headerOf(head), 9), mempoolCSVColumns[:9])
	},
	Read: readMempoolCSV,
}

var mempoolCollector = Format{
	Name: string(mempoolSource), Place: Line,
	Doc:    "a collector's file of mempool-dumpster, in CSV: time, hash and raw transaction",
	begins: func(head []byte) bool { return slices.Equal(headerOf(head), mempoolCollectorColumns) },
	Read:   readMempoolCSV,
}

var mempoolParquet = Format{
	Name: string(mempoolSource), Place: Row,
	Doc: "transactions of mempool-dumpster, in Parquet: the raw transaction, if it is there, must have the row's hash, " +
		"its sender's signature and all that the row says",
	columns: mempoolColumns, needed: 10,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return eachRow(in, mempoolColumns, noBytes, func(at int64, r *parquetRow) error {
			t, err := r.transaction(from.Network)
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			return to.Row(at, t)
		})
	},
}

// headerOf is the first line of CSV, whose fields may be quoted.
func headerOf(head []byte) []string {
	first, _, _ := strings.Cut(string(head), "\n")
	names := strings.Split(strings.TrimSuffix(first, "\r"), ",")
	for i, name := range names {
		names[i] = strings.Trim(name, `" `)
	}
	return names
}

func firstOf(names []string, n int) []string { return names[:min(n, len(names))] }

func readMempoolCSV(in io.Reader, from Origin, to Sink) error {
	var names []string
	return eachRecordFrom(in, 0, func(at int64, fields []string) error {
		if names == nil {
			for _, name := range fields {
				names = append(names, strings.TrimSpace(name))
			}
			if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
				return errTwoColumns
			}
			return nil
		}
		text := strings.Join(fields, ",")
		switch {
		case strings.TrimSpace(fields[0]) == names[0]:
			return nil // files of several hours that were joined have a header each
		case len(fields) != len(names):
			return to.Bad(at, text, fmt.Errorf("%d fields in place of %d", len(fields), len(names)))
		}
		t, err := transactionOfFields(names, fields)
		if err == nil {
			err = t.check(from.Network)
		}
		if err != nil {
			return to.Bad(at, text, err)
		}
		return to.Row(at, t)
	})
}

func transactionOfFields(names, fields []string) (*Transaction, error) {
	t := &Transaction{Source: mempoolSource}
	cells := map[string]any{
		"hash": &t.Hash, "chain_id": &t.ChainID, "from": &t.From, "to": &t.To, "value": &t.ValueWei, "nonce": &t.Nonce,
		"gas": &t.GasLimit, "gas_price": &t.GasPriceWei, "gas_tip_cap": &t.TipCapWei, "gas_fee_cap": &t.FeeCapWei,
		"data_size": &t.DataBytes, "data_4bytes": &t.Selector, "sources": &t.Sources,
		"included_at_block_height": &t.IncludedBlock, "inclusion_delay_ms": &t.InclusionDelayMs, "tx_type": &t.TxType,
		"raw_tx": &t.Raw,
	}
	for i, name := range names {
		cell := strings.TrimSpace(fields[i])
		var err error
		switch name {
		case "timestamp_ms":
			t.ObservedAt, err = parseMs(cell)
		case "included_block_timestamp_ms":
			t.IncludedAt, err = parseMs(cell)
		default:
			if into := cells[name]; into != nil {
				err = parseCell(cell, into)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, t.forgetExclusion()
}

// forgetExclusion makes nulls of the zeros by which the archive says that a transaction is in no
// block.
func (t *Transaction) forgetExclusion() error {
	if t.IncludedBlock.V == 0 {
		if t.IncludedAt.Micros != 0 {
			return errors.New("it has the time of a block, and no block")
		}
		t.IncludedBlock, t.IncludedAt, t.InclusionDelayMs = Int{}, Time{}, Signed{}
	}
	if t.IncludedAt.Micros == 0 {
		t.IncludedAt = Time{}
	}
	return nil
}

func (r *parquetRow) transaction(n Network) (*Transaction, error) {
	t := &Transaction{Source: mempoolSource}
	for _, name := range []string{"timestamp", "includedBlockTimestamp"} {
		if c := r.column(name); c.unit == unitSeconds {
			c.unit = unitMillis // a plain number
		}
	}
	err := r.fill(namedCell{"timestamp", &t.ObservedAt}, namedCell{"hash", &t.Hash}, namedCell{"chainId", &t.ChainID},
		namedCell{"txType", &t.TxType}, namedCell{"from", &t.From}, namedCell{"to", &t.To}, namedCell{"nonce", &t.Nonce},
		namedCell{"gas", &t.GasLimit}, namedCell{"dataSize", &t.DataBytes}, namedCell{"data4Bytes", &t.Selector},
		namedCell{"sources", &t.Sources}, namedCell{"includedAtBlockHeight", &t.IncludedBlock},
		namedCell{"includedBlockTimestamp", &t.IncludedAt}, namedCell{"inclusionDelayMs", &t.InclusionDelayMs},
		namedCell{"rawTx", &t.Raw})
	if err != nil {
		return nil, err
	}
	for _, amount := range []struct {
		name string
		into *Wei
	}{
		{"value", &t.ValueWei}, {"gasPrice", &t.GasPriceWei}, {"gasTipCap", &t.TipCapWei}, {"gasFeeCap", &t.FeeCapWei},
	} {
		c := r.column(amount.name)
		if c.kind == parquet.Types.ByteArray && c.text(r.at) == "" {
			continue
		}
		if *amount.into, err = c.wei(r.at); err != nil {
			return nil, fmt.Errorf("%s: %w", amount.name, err)
		}
	}
	if err := t.forgetExclusion(); err != nil {
		return nil, err
	}
	return t, t.check(n)
}
