package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/parquet"
)

// Reader reads the rows of a file that a Writer wrote.
type Reader[R any] struct {
	in *columns
	// cells has for each open column the place of its cell.
	cells []func(*R) any
	rows  []R
}

// NewReader opens a file of the table. The file must be of this version of the schema and of this
// network, or of any if the network has no name. If columns are named, only their cells are read,
// and the others are null.
func NewReader[R any](table *Table[R], network Network, in parquet.ReaderAtSeeker, only ...string) (*Reader[R], error) {
	var names []string
	var cells []func(*R) any
	for _, c := range table.Columns {
		if len(only) == 0 || slices.Contains(only, c.Name) {
			names, cells = append(names, c.Name), append(cells, c.Cell)
		}
	}
	cols, err := openColumns(in, names)
	if err != nil {
		return nil, err
	}
	meta := cols.in.MetaData().KeyValueMetadata()
	for _, want := range [][2]string{
		{"gavel.table", table.Name},
		{"gavel.schema_version", strconv.Itoa(Version)},
		{"gavel.network", network.Name},
	} {
		if want[0] == "gavel.network" && want[1] == "" {
			continue
		}
		if got := meta.FindValue(want[0]); got == nil || *got != want[1] {
			return nil, fmt.Errorf("the file's %s is not %q: it is of another data set", want[0], want[1])
		}
	}
	return &Reader[R]{in: cols, cells: cells}, nil
}

// Next returns the next row, or io.EOF. The row stays the caller's.
func (r *Reader[R]) Next() (*R, error) {
	if len(r.rows) == 0 {
		n, err := r.in.next()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.EOF
		}
		r.rows = make([]R, n)
		for i, cell := range r.cells {
			for j := range r.rows {
				if err := r.in.open[i].fill(cell(&r.rows[j]), j); err != nil {
					return nil, fmt.Errorf("row %d, %s: %w", j, r.in.open[i].name, err)
				}
			}
		}
	}
	row := &r.rows[0]
	r.rows = r.rows[1:]
	return row, nil
}

// fill puts the column's cell of row i of the batch into a row of a table. Null leaves it as it is.
func (c *column) fill(cell any, i int) error {
	if c.at < 0 || c.index[i] < 0 {
		return nil
	}
	var err error
	switch v := cell.(type) {
	case *Int:
		*v, err = c.int(i)
	case *Signed:
		*v, err = c.signedInt(i)
	case *Time:
		*v, err = c.time(i)
	case *Bool:
		*v, err = c.bool(i)
	case *Wei:
		*v, err = c.wei(i)
	case *Change:
		*v, err = c.change(i)
	case *Hash:
		v.Known, err = c.hex(i, v.V[:])
	case *Key:
		v.Known, err = c.hex(i, v.V[:])
	case *Address:
		v.Known, err = c.hex(i, v.V[:])
	case *Text:
		*v = c.sharedText(i)
	case *Blob:
		*v = Blob(c.text(i))
	}
	return err
}

// maxNames bounds the names of a column that are remembered.
const maxNames = 4096

// sharedText is a cell of a column of names, of which few are different: rows share the memory of
// theirs.
func (c *column) sharedText(i int) Text {
	raw := c.bytes(i)
	name, known := c.names[string(raw)]
	if !known {
		name = Text(raw)
		if c.names == nil {
			c.names = map[string]Text{}
		}
		if len(c.names) < maxNames {
			c.names[string(name)] = name
		}
	}
	return name
}

// known tells whether row i has a cell.
func (c *column) known(i int) bool { return c.at >= 0 && c.index[i] >= 0 }

// text is a cell of text or bytes, empty for null and for other types.
func (c *column) text(i int) string { return string(c.bytes(i)) }

func (c *column) bytes(i int) []byte {
	if !c.known(i) {
		return nil
	}
	if c.maxRep > 0 {
		return []byte(c.lists[i])
	}
	switch c.kind {
	case parquet.Types.ByteArray:
		return c.texts[c.index[i]]
	case parquet.Types.FixedLenByteArray:
		return c.fixed[c.index[i]]
	}
	return nil
}

// hex fills into with the bytes of a cell of text. Rows are often sorted, so that a cell is often
// the one before.
func (c *column) hex(i int, into []byte) (known bool, err error) {
	text := c.bytes(i)
	if len(text) > 0 && bytes.Equal(text, c.lastText) && len(c.lastRaw) == len(into) {
		copy(into, c.lastRaw)
		return true, nil
	}
	if known, err = parseHex(text, into); known {
		c.lastText, c.lastRaw = append(c.lastText[:0], text...), append(c.lastRaw[:0], into...)
	}
	return known, err
}

var errNotInt = errors.New("not a number from 0 to 2^63-1")

// int is a count: some archives write it as a floating-point number, some as text.
func (c *column) int(i int) (Int, error) {
	if !c.known(i) {
		return Int{}, nil
	}
	at := c.index[i]
	switch c.kind {
	case parquet.Types.Int32, parquet.Types.Int64:
		if c.ints[at] < 0 {
			return Int{}, errNotInt
		}
		return Int{c.ints[at], true}, nil
	case parquet.Types.Double:
		v := int64(c.doubles[at])
		if c.doubles[at] < 0 || c.doubles[at] >= 1<<53 || float64(v) != c.doubles[at] {
			return Int{}, errNotInt
		}
		return Int{v, true}, nil
	case parquet.Types.ByteArray:
		return parseInt(c.text(i))
	}
	return Int{}, errNotInt
}

// signedInt is a number that may be negative.
func (c *column) signedInt(i int) (Signed, error) {
	if !c.known(i) {
		return Signed{}, nil
	}
	switch c.kind {
	case parquet.Types.Int32, parquet.Types.Int64:
		return Signed{c.ints[c.index[i]], true}, nil
	case parquet.Types.ByteArray:
		return parseSigned(c.text(i))
	}
	return Signed{}, errors.New("not a whole number")
}

// time is a timestamp, or for a column that is a plain number the seconds since 1970.
func (c *column) time(i int) (Time, error) {
	if !c.known(i) {
		return Time{}, nil
	}
	if c.kind != parquet.Types.Int32 && c.kind != parquet.Types.Int64 {
		return Time{}, errors.New("not a timestamp")
	}
	v := c.ints[c.index[i]]
	micros := v
	switch c.unit {
	case unitSeconds:
		if v > maxMicros/1e6 {
			return Time{}, fmt.Errorf("%d is no time in seconds since 1970", v)
		}
		micros = v * 1e6
	case unitMillis:
		if v > maxMicros/1e3 {
			return Time{}, fmt.Errorf("%d is no time in milliseconds since 1970", v)
		}
		micros = v * 1e3
	case unitNanos:
		micros = v / 1e3
	}
	if micros < 0 || micros > maxMicros {
		return Time{}, fmt.Errorf("%d is no time from 1970 to 9999", v)
	}
	return Time{micros, true}, nil
}

func (c *column) bool(i int) (Bool, error) {
	if !c.known(i) {
		return Bool{}, nil
	}
	if c.kind == parquet.Types.Boolean {
		return Bool{c.flags[c.index[i]], true}, nil
	}
	n, err := c.int(i)
	if err != nil || n.V > 1 {
		return Bool{}, errors.New("neither true nor false")
	}
	return Bool{n.V == 1, n.Known}, nil
}

// change is a difference of amounts, as a Writer writes it.
func (c *column) change(i int) (Change, error) {
	big := c.bytes(i)
	if len(big) != 16 {
		return Change{}, errors.New("not a DECIMAL of 16 bytes")
	}
	return Change{binary.BigEndian.Uint64(big), binary.BigEndian.Uint64(big[8:]), true}, nil
}

// wei is an amount: DECIMAL, decimal text, or an integer.
func (c *column) wei(i int) (Wei, error) {
	if !c.known(i) {
		return Wei{}, nil
	}
	switch c.kind {
	case parquet.Types.FixedLenByteArray:
		big := c.bytes(i)
		if len(big) > 0 && big[0]&0x80 != 0 {
			return Wei{}, errors.New("less than 0")
		}
		whole, err := weiOfBytes(big)
		if err != nil || c.places == 0 {
			return whole, err
		}
		return whole.withoutPlaces(c.places)
	case parquet.Types.ByteArray:
		return ParseWei(c.text(i))
	case parquet.Types.Int32, parquet.Types.Int64:
		if c.places > 0 {
			return Wei{}, errPlaces
		}
		n, err := c.int(i)
		return Wei{Lo: uint64(n.V), Known: err == nil}, err
	}
	return Wei{}, errors.New("not an exact number of wei")
}
