package dataset

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// batchRows is how many rows of a Parquet file are read at a time.
const batchRows = 8192

// columns reads some columns of a Parquet file, batch by batch. A column may be missing, required
// or optional.
type columns struct {
	in     *file.Reader
	group  int // of the next row group
	left   int64
	open   []*column
	places map[string]int
}

// column has the cells of one batch.
type column struct {
	name  string
	at    int // in the file; -1 if there is none
	chunk file.ColumnChunkReader
	// unit is that of a timestamp.
	unit   unit
	maxDef int16
	maxRep int16
	defs   []int16
	// index is for each row the place of its value in values, or -1.
	index []int32
	// ints, doubles, flags, texts have the values, by the column's physical type.
	ints    []int64
	small   []int32
	doubles []float64
	flags   []bool
	texts   []parquet.ByteArray
	fixed   []parquet.FixedLenByteArray
	kind    parquet.Type
	signed  bool
	// places are those behind the point of a decimal.
	places int
	// A list is its elements with a space between them, one text for each row. levels are those that
	// were read of it and not used yet.
	lists  []string
	levels listLevels
	// lastText is the newest cell of hexadecimal text that was read, and lastRaw its bytes.
	lastText, lastRaw []byte
	// names are cells that were read, so that rows with the same name share its memory.
	names map[string]Text
}

// unit is the unit of a column of times: a column that is no timestamp counts seconds.
type unit int

const (
	unitSeconds unit = iota
	unitMillis
	unitMicros
	unitNanos
)

// openColumns opens a Parquet file to read the columns with these names.
func openColumns(in parquet.ReaderAtSeeker, names []string) (c *columns, err error) {
	defer recoverDamage(&err)
	reader, err := file.NewParquetReader(in)
	if err != nil {
		return nil, fmt.Errorf("read the Parquet file: %w", err)
	}
	c = &columns{in: reader, places: map[string]int{}}
	sc := reader.MetaData().Schema
	for _, name := range names {
		col := &column{name: name, at: -1}
		for i := range sc.NumColumns() {
			// A list is named by its outer group: sources.list.element.
			if sc.Column(i).ColumnPath()[0] == name {
				col.at = i
				break
			}
		}
		if col.at >= 0 {
			col.describe(sc.Column(col.at))
		}
		c.places[name] = len(c.open)
		c.open = append(c.open, col)
	}
	return c, nil
}

func (c *column) describe(d *schema.Column) {
	c.kind, c.maxDef, c.maxRep, c.signed = d.PhysicalType(), d.MaxDefinitionLevel(), d.MaxRepetitionLevel(), true
	switch l := d.LogicalType().(type) {
	case schema.TimestampLogicalType:
		switch l.TimeUnit() {
		case schema.TimeUnitMillis:
			c.unit = unitMillis
		case schema.TimeUnitMicros:
			c.unit = unitMicros
		case schema.TimeUnitNanos:
			c.unit = unitNanos
		}
	case schema.DecimalLogicalType:
		c.places = int(l.Scale())
	case schema.IntLogicalType:
		c.signed = l.IsSigned()
	}
}

// columnNames are the top-level columns of a Parquet file.
func columnNames(in parquet.ReaderAtSeeker) (names map[string]bool, err error) {
	defer recoverDamage(&err)
	reader, err := file.NewParquetReader(in)
	if err != nil {
		return nil, fmt.Errorf("read the Parquet file: %w", err)
	}
	names = map[string]bool{}
	sc := reader.MetaData().Schema
	for i := range sc.NumColumns() {
		names[sc.Column(i).ColumnPath()[0]] = true
	}
	return names, nil
}

// recoverDamage makes an error of the panic by which the library answers some damaged files.
func recoverDamage(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("read the Parquet file: it is damaged: %v", r)
	}
}

// next reads the next rows. It returns 0 at the end.
func (c *columns) next() (rows int, err error) {
	defer recoverDamage(&err)
	for c.left == 0 {
		if c.group == c.in.NumRowGroups() {
			return 0, nil
		}
		group := c.in.RowGroup(c.group)
		c.group, c.left = c.group+1, group.NumRows()
		for _, col := range c.open {
			if col.at < 0 {
				continue
			}
			col.levels = listLevels{}
			if col.chunk, err = group.Column(col.at); err != nil {
				return 0, fmt.Errorf("read column %s: %w", col.name, err)
			}
		}
	}
	rows = int(min(c.left, batchRows))
	for _, col := range c.open {
		if col.at < 0 {
			continue
		}
		if err := col.read(rows); err != nil {
			return 0, fmt.Errorf("read column %s: %w", col.name, err)
		}
	}
	c.left -= int64(rows)
	return rows, nil
}

var errShortColumn = errors.New("it ends before the other columns")

// read reads the cells of so many rows.
func (c *column) read(rows int) error {
	if c.maxRep > 0 {
		return c.readLists(rows)
	}
	c.defs = sized(c.defs, rows)
	total, err := c.values(rows)
	if err != nil {
		return err
	}
	if total != rows {
		return errShortColumn
	}
	c.index = sized(c.index, rows)
	at := int32(0)
	for i := range rows {
		c.index[i] = -1
		if c.maxDef == 0 || c.defs[i] == c.maxDef {
			c.index[i] = at
			at++
		}
	}
	return nil
}

// values reads up to n cells into the slice of the column's type.
func (c *column) values(n int) (int, error) {
	var total int64
	var err error
	switch chunk := c.chunk.(type) {
	case *file.Int64ColumnChunkReader:
		c.ints = sized(c.ints, n)
		total, _, err = chunk.ReadBatch(int64(n), c.ints, c.defs, nil)
	case *file.Int32ColumnChunkReader:
		c.small, c.ints = sized(c.small, n), sized(c.ints, n)
		total, _, err = chunk.ReadBatch(int64(n), c.small, c.defs, nil)
		for i, v := range c.small {
			if c.ints[i] = int64(v); !c.signed {
				c.ints[i] = int64(uint32(v))
			}
		}
	case *file.BooleanColumnChunkReader:
		c.flags = sized(c.flags, n)
		total, _, err = chunk.ReadBatch(int64(n), c.flags, c.defs, nil)
	case *file.Float64ColumnChunkReader:
		c.doubles = sized(c.doubles, n)
		total, _, err = chunk.ReadBatch(int64(n), c.doubles, c.defs, nil)
	case *file.ByteArrayColumnChunkReader:
		c.texts = sized(c.texts, n)
		total, _, err = chunk.ReadBatch(int64(n), c.texts, c.defs, nil)
	case *file.FixedLenByteArrayColumnChunkReader:
		c.fixed = sized(c.fixed, n)
		total, _, err = chunk.ReadBatch(int64(n), c.fixed, c.defs, nil)
	default:
		return 0, fmt.Errorf("cells of the type %s are not read", c.kind)
	}
	return int(total), err
}

// sized returns a slice of n elements, the old one if it has room.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
