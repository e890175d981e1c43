package dataset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
)

// parquetRow is a row of the current batch of a Parquet file of others.
type parquetRow struct {
	*columns
	at    int
	order byteOrder
	// asked are the columns that a row was asked for, in that order, which is the same for nearly all
	// rows; asks is how many of them this row was asked for.
	asked []*column
	asks  int
}

func (r *parquetRow) column(name string) *column {
	if r.asks < len(r.asked) && r.asked[r.asks].name == name {
		r.asks++
		return r.asked[r.asks-1]
	}
	c := r.open[r.places[name]]
	r.asked = append(r.asked[:r.asks], c)
	r.asks++
	return c
}

// String is what the row has, for the file of bad rows.
func (r *parquetRow) String() string {
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
		case parquet.Types.ByteArray:
			if text := c.text(r.at); !utf8.ValidString(text) {
				cells = append(cells, fmt.Sprintf("%s=%#x", c.name, text))
				continue
			}
			cells = append(cells, fmt.Sprintf("%s=%q", c.name, c.text(r.at)))
		default:
			cells = append(cells, fmt.Sprintf("%s=%q", c.name, c.text(r.at)))
		}
	}
	return strings.Join(cells, " ")
}

// eachRow calls a function with each row of a Parquet file. Columns that the file lacks are null.
func eachRow(in parquet.ReaderAtSeeker, names []string, order byteOrder,
	do func(at int64, r *parquetRow) error) error {
	cols, err := openColumns(in, names)
	if err != nil {
		return err
	}
	r := parquetRow{columns: cols, order: order}
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
			r.asks = 0
			if err := do(at, &r); err != nil {
				return err
			}
		}
	}
}

func (r *parquetRow) wei() (Wei, error) {
	value := r.column("value")
	if r.order == littleEndian && value.known(r.at) {
		return weiOfBytes(reversed(value.bytes(r.at)))
	}
	return value.wei(r.at)
}

// fill puts cells into a row of a table. Columns that the file lacks stay null.
func (r *parquetRow) fill(cells ...namedCell) error {
	for _, c := range cells {
		if err := r.column(c.name).fill(c.into, r.at); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

type namedCell struct {
	name string
	into any
}
