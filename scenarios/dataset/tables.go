package dataset

import (
	"io"

	"github.com/apache/arrow-go/v18/parquet"
)

// Tables are the tables of the data set. Whoever adds one lists it here: import, export, the
// formats csv and parquet, questions in SQL and docs/replay.md take it from this list.
var Tables = []AnyTable{Bids, Deliveries, Registrations, Requests, Slots, Stages, Orders}

// AnyTable is a table, whatever the type of its rows.
type AnyTable interface {
	TableName() string
	Markdown() string
	// NewRows has no rows yet.
	NewRows() Rows
	ownFormats() []*Format
	ownOutgoing(ending string) AnyOutgoing
}

// Rows are rows of one table in memory.
type Rows interface {
	TableName() string
	// Take adds a row if it is of the table.
	Take(row any) bool
	// Parts splits the rows by the files that they belong to.
	Parts(network Network) map[Part]Rows
	// Merge writes the union of these rows and of a file, which is nil if there is none yet.
	Merge(network Network, old parquet.ReaderAtSeeker, out io.Writer) (Merged, error)
}

// TableName implements AnyTable.
func (t *Table[R]) TableName() string { return t.Name }

// NewRows implements AnyTable.
func (t *Table[R]) NewRows() Rows { return &tableRows[R]{table: t} }

func (t *Table[R]) ownFormats() []*Format { return []*Format{ownCSV(t), ownParquet(t)} }

// ownOutgoing is how our own formats write the table: the ending is .csv or .parquet.
func (t *Table[R]) ownOutgoing(ending string) AnyOutgoing {
	how := Outgoing[R]{Table: t, File: t.Name + ending, Tell: wholeRow[R]}
	how.begin = func(n Network, out io.Writer) (RowWriter[R], error) { return NewWriter(t, n, out) }
	if ending == ".csv" {
		how.begin = func(_ Network, out io.Writer) (RowWriter[R], error) { return NewCSVWriter(t, out) }
	}
	return how
}

func ownFormats() (all []*Format) {
	for _, t := range Tables {
		all = append(all, t.ownFormats()...)
	}
	return all
}

func ownOutgoing(ending string) (all []AnyOutgoing) {
	for _, t := range Tables {
		all = append(all, t.ownOutgoing(ending))
	}
	return all
}

type tableRows[R any] struct {
	table *Table[R]
	all   []*R
}

// TableName implements Rows.
func (r *tableRows[R]) TableName() string { return r.table.Name }

// Take implements Rows.
func (r *tableRows[R]) Take(row any) bool {
	one, isOfTable := row.(*R)
	if isOfTable {
		r.all = append(r.all, one)
	}
	return isOfTable
}

// Parts implements Rows.
func (r *tableRows[R]) Parts(network Network) map[Part]Rows {
	parts := map[Part]Rows{}
	for _, row := range r.all {
		part := r.table.Part(network, row)
		if parts[part] == nil {
			parts[part] = r.table.NewRows()
		}
		parts[part].Take(row)
	}
	return parts
}

// Merge implements Rows.
func (r *tableRows[R]) Merge(network Network, old parquet.ReaderAtSeeker, out io.Writer) (merged Merged, err error) {
	var was *Reader[R]
	if old != nil {
		if was, err = NewReader(r.table, network, old); err != nil {
			return merged, err
		}
	}
	into, err := NewWriter(r.table, network, out)
	if err != nil {
		return merged, err
	}
	if merged, err = Merge(r.table, was, r.table.Sort(r.all), into); err != nil {
		return merged, err
	}
	return merged, into.Close()
}
