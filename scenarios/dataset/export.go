package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
)

// ExportFormat is a format that rows of the data set can be written in. What is written can be
// imported.
type ExportFormat struct {
	Name, Doc string
	// Tables are the tables that the format has: Outgoing of their rows' types. A table may be written
	// in several files.
	Tables []AnyOutgoing
	// Refusal says why nothing can be written in the format; empty: it can.
	Refusal string
}

// AnyOutgoing is how a format writes a table, whatever the type of its rows.
type AnyOutgoing interface {
	TableName() string
	FileName() string
	// Begin begins the file.
	Begin(network Network, out io.Writer) (Exporter, error)
}

// Exporter writes the rows of files of the data set in a format.
type Exporter interface {
	// Copy writes the rows of a file: those of one relay, or with "" all. It asks stopped now and then
	// whether to go on.
	Copy(in parquet.ReaderAtSeeker, relay string, stopped func() error) error
	// Close ends the file's content.
	Close() error
	// Counts says what was written.
	Counts() Exported
}

// Outgoing is how a format writes a table.
type Outgoing[R any] struct {
	Table *Table[R]
	File  string
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

// TableName implements AnyOutgoing.
func (o Outgoing[R]) TableName() string { return o.Table.Name }

// FileName implements AnyOutgoing.
func (o Outgoing[R]) FileName() string { return o.File }

// Begin implements AnyOutgoing.
func (o Outgoing[R]) Begin(network Network, out io.Writer) (Exporter, error) {
	return newExportWriter(o, network, out)
}

// exportWriter writes a table in a format, and counts what the format cannot say.
type exportWriter[R any] struct {
	counts  Exported
	network Network
	how     Outgoing[R]
	out     RowWriter[R]
}

func newExportWriter[R any](how Outgoing[R], network Network, out io.Writer) (*exportWriter[R], error) {
	w, err := how.begin(network, out)
	if err != nil {
		return nil, err
	}
	return &exportWriter[R]{
		counts:  Exported{File: how.File, LeftOut: map[string]int64{}, Lost: map[string]int64{}},
		network: network, how: how, out: w,
	}, nil
}

var errUnsorted = errors.New("its rows are not sorted: it was not written by this program")

// Copy implements Exporter.
func (w *exportWriter[R]) Copy(in parquet.ReaderAtSeeker, relay string, stopped func() error) error {
	t := w.how.Table
	rows, err := NewReader(t, w.network, in)
	if err != nil {
		return err
	}
	var last *R
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := stopped(); err != nil {
				return err
			}
		}
		row, err := rows.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case last != nil && compareCells(t.Columns[0].Cell(last), t.Columns[0].Cell(row)) > 0:
			return errUnsorted
		}
		last = row
		switch {
		case relay != "" && t.Relay == nil:
			w.counts.LeftOut[whyNoRelay]++
			continue
		case relay != "" && *t.Relay(row) != Text(relay):
			continue
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
}

// Counts implements Exporter.
func (w *exportWriter[R]) Counts() Exported { return w.counts }

// Write writes a row, unless the format cannot have it.
func (w *exportWriter[R]) Write(row *R) error {
	told, why := w.how.Tell(*row)
	if why != "" {
		w.counts.LeftOut[why]++
		return nil
	}
	for _, c := range w.how.Table.Columns {
		if compareCells(c.Cell(row), c.Cell(&told)) != 0 {
			w.counts.Lost[c.Name]++
		}
	}
	w.counts.Rows++
	return w.out.Write(&told)
}

// Close implements Exporter.
func (w *exportWriter[R]) Close() error { return w.out.Close() }

// wholeRow tells all of a row.
func wholeRow[R any](row R) (R, string) { return row, "" }

// Why a format cannot have a row.
const (
	whyKind      = "it is not of those that relays list as received"
	whyRefused   = "the relay refused it, which the format cannot say"
	whyNoTime    = "it has no time of the relay's clock, by which the format tells bids from deliveries"
	whySeparator = "its relay's name has a separator of the format"
	whyNoRelay   = "it is of no relay"
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
	Tables: ownOutgoing(".parquet"),
}

var exportCSV = ExportFormat{
	Name: "csv", Doc: "all columns of the data set, with a header; times in RFC 3339, null is an empty field",
	Tables: ownOutgoing(".csv"),
}

// ExportsMarkdown is the table of formats of docs/replay.md.
func ExportsMarkdown() string {
	var out strings.Builder
	out.WriteString("| `--format` | files | |\n|---|---|---|\n")
	for _, f := range Exports {
		var files []string
		for _, one := range f.Tables {
			files = append(files, "`"+one.FileName()+"`")
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.Name, strings.Join(files, ", "), f.Doc)
	}
	return out.String()
}
