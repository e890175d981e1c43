package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Version is the version of the schema. A column may be added without a new one; what a column
// means may not change.
const Version = 1

// Column is a column of a table whose rows are of type R.
type Column[R any] struct {
	Name, Unit, Doc string
	// Cell is the place of the column's cell in a row: a pointer to one of the types of cells.
	Cell func(*R) any
}

// Table is a table of the data set.
type Table[R any] struct {
	Name, Doc string
	// Columns are in the order in which rows are sorted. Rows that agree in all of them but Seen are
	// one row.
	Columns []Column[R]
	// Seen is the moment at which a collector saw the row; of several the earliest is kept. It is nil
	// for tables without.
	Seen func(*R) *Time
	// Relay is the relay that the row is of; it is nil for tables of what no relay tells.
	Relay func(*R) *Text
	// check completes a row that was read, and says why it cannot be one.
	check func(*R, Network) error
	// At is the moment whose day and hour say in which file the row stands, in microseconds.
	At func(Network, *R) int64
}

// Part is the file of the table that a row belongs to.
func (t *Table[R]) Part(n Network, row *R) Part { return partOf(t.At(n, row)) }

// Compare orders rows by their columns but Seen.
func (t *Table[R]) Compare(a, b *R) int {
	for i := range t.Columns {
		cell := t.Columns[i].Cell
		x := cell(a)
		if seen, isTime := x.(*Time); isTime && t.Seen != nil && seen == t.Seen(a) {
			continue
		}
		if order := compareCells(x, cell(b)); order != 0 {
			return order
		}
	}
	return 0
}

// Unite puts what two equal rows know into the first: the earliest moment at which one was seen.
func (t *Table[R]) unite(into, other *R) {
	if t.Seen == nil {
		return
	}
	a, b := t.Seen(into), t.Seen(other)
	if b.Known && (!a.Known || b.Micros < a.Micros) {
		*a = *b
	}
}

// Sort sorts rows and unites equal ones.
func (t *Table[R]) Sort(rows []*R) []*R {
	slices.SortStableFunc(rows, t.Compare)
	kept := rows[:0]
	for _, row := range rows {
		if len(kept) > 0 && t.Compare(kept[len(kept)-1], row) == 0 {
			t.unite(kept[len(kept)-1], row)
			continue
		}
		kept = append(kept, row)
	}
	return kept
}

// Markdown describes the table for docs/replay.md.
func (t *Table[R]) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "### %s\n%s\n\n| column | type in Parquet | unit | |\n|---|---|---|---|\n", t.Name, t.Doc)
	var row R
	for _, c := range t.Columns {
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", c.Name, physical(c.Cell(&row)).name, c.Unit, c.Doc)
	}
	return out.String()
}
