package dataset

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// ExportFormat is a format that rows of the data set can be written in. What is written can be
// imported.
type ExportFormat struct {
	Name, Doc  string
	Bids       Outgoing[Bid]
	Deliveries Outgoing[Delivery]
	// Refusal says why nothing can be written in the format; empty: it can.
	Refusal string
}

// Outgoing is how a format writes a table. Without a File the format has no such table.
type Outgoing[R any] struct {
	File string
	// Tell returns what the format can say of a row: cells that it cannot say are null, or rounded. If
	// it cannot have the row at all, why says so.
	Tell func(row R) (told R, why string)
	// begin begins a file of rows that Tell returned.
	begin func(Network, io.Writer) (RowWriter[R], error)
}

// RowWriter writes rows. Close ends the file's content, and not the file.
type RowWriter[R any] interface {
	Write(row *R) error
	Close() error
}

// Exports are the formats of exports.
var Exports = []*ExportFormat{&exportRelayscan, &exportDataAPI, &exportXatu, &exportParquet, &exportCSV, &exportMempool}

// Mempool-dumpster's files are of transactions, which no table of the data set has.
var exportMempool = ExportFormat{
	Name:    "mempool-dumpster",
	Doc:     "refused: the data set has no transactions",
	Refusal: "mempool-dumpster's files are of transactions, and a data set has bids and deliveries only",
}

// ExportNamed returns a format of exports.
func ExportNamed(name string) (*ExportFormat, error) {
	var names []string
	for _, f := range Exports {
		switch {
		case f.Name == name && f.Refusal == "":
			return f, nil
		case f.Name == name:
			return nil, fmt.Errorf("export to %s: %s", name, f.Refusal)
		case f.Refusal == "":
			names = append(names, f.Name)
		}
	}
	return nil, fmt.Errorf("export to %q: there is no such format: choose one of %s", name, strings.Join(names, ", "))
}

// Exported says what came of writing a table in a format.
type Exported struct {
	File string `json:"file"`
	Rows int64  `json:"rows"`
	// LeftOut counts rows that the format cannot have, by reason. Lost counts cells that it cannot
	// say, or only rounded, by column.
	LeftOut map[string]int64 `json:"left_out,omitempty"`
	Lost    map[string]int64 `json:"lost,omitempty"`
}

// ExportWriter writes a table in a format, and counts what the format cannot say.
type ExportWriter[R any] struct {
	Exported
	table *Table[R]
	how   Outgoing[R]
	out   RowWriter[R]
}

// NewExportWriter begins a file.
func NewExportWriter[R any](table *Table[R], how Outgoing[R], network Network,
	out io.Writer) (*ExportWriter[R], error) {
	w, err := how.begin(network, out)
	if err != nil {
		return nil, err
	}
	return &ExportWriter[R]{
		Exported: Exported{File: how.File, LeftOut: map[string]int64{}, Lost: map[string]int64{}},
		table:    table, how: how, out: w,
	}, nil
}

// Write writes a row, unless the format cannot have it.
func (w *ExportWriter[R]) Write(row *R) error {
	told, why := w.how.Tell(*row)
	if why != "" {
		w.LeftOut[why]++
		return nil
	}
	for _, c := range w.table.Columns {
		if compareCells(c.Cell(row), c.Cell(&told)) != 0 {
			w.Lost[c.Name]++
		}
	}
	w.Rows++
	return w.out.Write(&told)
}

// Close ends the file's content.
func (w *ExportWriter[R]) Close() error { return w.out.Close() }

// wholeRow tells all of a row.
func wholeRow[R any](row R) (R, string) { return row, "" }

// Why a format cannot have a row.
const (
	whyKind      = "it is not of those that relays list as received"
	whyRefused   = "the relay refused it, which the format cannot say"
	whyNoTime    = "it has no time of the relay's clock, by which the format tells bids from deliveries"
	whySeparator = "its relay's name has a separator of the format"
	whyNoKind    = "it is of no kind that the format has"
)

// onlyMillis rounds a time down to milliseconds.
func onlyMillis(t Time) Time {
	t.Micros -= t.Micros % 1000
	return t
}

// millis is a time as a count of milliseconds.
func millis(t Time) Int { return Int{t.Micros / 1000, t.Known} }

var exportParquet = ExportFormat{
	Name: "parquet", Doc: "all columns of the data set, in one Parquet file for each table",
	Bids: Outgoing[Bid]{"bids.parquet", wholeRow[Bid], func(n Network, out io.Writer) (RowWriter[Bid], error) {
		return NewWriter(Bids, n, out)
	}},
	Deliveries: Outgoing[Delivery]{
		"deliveries.parquet", wholeRow[Delivery],
		func(n Network, out io.Writer) (RowWriter[Delivery], error) { return NewWriter(Deliveries, n, out) },
	},
}

var exportCSV = ExportFormat{
	Name: "csv", Doc: "all columns of the data set, with a header; times in RFC 3339, null is an empty field",
	Bids: Outgoing[Bid]{"bids.csv", wholeRow[Bid], func(_ Network, out io.Writer) (RowWriter[Bid], error) {
		return NewCSVWriter(Bids, out)
	}},
	Deliveries: Outgoing[Delivery]{
		"deliveries.csv", wholeRow[Delivery],
		func(_ Network, out io.Writer) (RowWriter[Delivery], error) { return NewCSVWriter(Deliveries, out) },
	},
}

// ExportsMarkdown is the table of formats of docs/replay.md.
func ExportsMarkdown() string {
	var out strings.Builder
	out.WriteString("| `--format` | files | |\n|---|---|---|\n")
	for _, f := range Exports {
		files := slices.DeleteFunc([]string{f.Bids.File, f.Deliveries.File}, func(s string) bool { return s == "" })
		for i := range files {
			files[i] = "`" + files[i] + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.Name, strings.Join(files, ", "), f.Doc)
	}
	return out.String()
}
