package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// groupRows is how many rows a row group has: enough that readers work in large steps, few enough
// that a writer's memory stays small.
const groupRows = 1 << 15

// maxGroupBytes bounds what rows that may take much do take in a writer's memory.
const maxGroupBytes = 24 << 20

// Writer writes rows into a Parquet file. The same rows give the same bytes.
type Writer[R any] struct {
	table   *Table[R]
	out     *file.Writer
	pending []*R
	bytes   int
	defined []int16
	ints    []int64
	bools   []bool
	wei     []parquet.FixedLenByteArray
	texts   []parquet.ByteArray
	arena   []byte
	// last are the bytes of the newest hash, key or address of the column. Rows are sorted, so the
	// next one is often the same.
	last       []byte
	dictionary dictionary
}

// NewWriter begins a file. The caller closes the writer, and then the file.
func NewWriter[R any](table *Table[R], network Network, out io.Writer) (*Writer[R], error) {
	var row R
	var fields schema.FieldList
	options := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithCreatedBy("gavel"),
	}
	for _, c := range table.Columns {
		l := physical(c.Cell(&row))
		node, err := nodeOf(c.Name, c.Cell(&row))
		if err != nil {
			return nil, fmt.Errorf("define column %s: %w", c.Name, err)
		}
		fields = append(fields, node)
		if l.unique {
			// Nor are the least and the greatest of them, by which readers skip rows.
			options = append(options, parquet.WithDictionaryFor(c.Name, false), parquet.WithStatsFor(c.Name, false))
		}
		if l.kind == parquet.Types.Int64 { // rows are sorted, and numbers near each other
			options = append(options, parquet.WithDictionaryFor(c.Name, false),
				parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, fmt.Errorf("define table %s: %w", table.Name, err)
	}
	sink := struct{ io.Writer }{out} // the library would close a file that it can close
	w, err := file.NewParquetWriterWithError(sink, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	if err != nil {
		return nil, fmt.Errorf("begin a Parquet file: %w", err)
	}
	for _, pair := range [][2]string{
		{"gavel.table", table.Name},
		{"gavel.schema_version", strconv.Itoa(Version)},
		{"gavel.network", network.Name},
	} {
		if err := w.AppendKeyValueMetadata(pair[0], pair[1]); err != nil {
			return nil, fmt.Errorf("describe a Parquet file: %w", err)
		}
	}
	return &Writer[R]{table: table, out: w, dictionary: dictionary{places: map[string]int32{}}}, nil
}

// nodeOf describes a column.
func nodeOf(name string, cell any) (schema.Node, error) {
	if _, isList := cell.(*textList); isList {
		return listNode(name)
	}
	l := physical(cell)
	return schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Optional, l.logical, l.kind, l.length, -1)
}

// Write adds a row, which must stay as it is until the writer is closed.
func (w *Writer[R]) Write(row *R) error {
	w.pending = append(w.pending, row)
	w.bytes += w.table.weigh(row)
	if len(w.pending) < groupRows && w.bytes < maxGroupBytes {
		return nil
	}
	return w.flush()
}

// Close writes what is left, and the end of the file.
func (w *Writer[R]) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("end a Parquet file: %w", err)
	}
	return nil
}

func (w *Writer[R]) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	group, err := w.out.AppendRowGroupChecked()
	if err != nil {
		return fmt.Errorf("begin a row group: %w", err)
	}
	for _, c := range w.table.Columns {
		chunk, err := group.NextColumn()
		if err == nil {
			err = w.column(c, chunk)
		}
		if err == nil {
			err = chunk.Close()
		}
		if err != nil {
			return fmt.Errorf("write column %s: %w", c.Name, err)
		}
	}
	clear(w.pending)
	w.pending, w.bytes = w.pending[:0], 0
	if err := group.Close(); err != nil {
		return fmt.Errorf("end a row group: %w", err)
	}
	return nil
}

// column writes one column of the pending rows.
func (w *Writer[R]) column(c Column[R], chunk file.ColumnChunkWriter) error {
	w.defined, w.ints, w.bools, w.wei, w.texts = w.defined[:0], w.ints[:0], w.bools[:0], w.wei[:0], w.texts[:0]
	w.arena = w.arena[:0]
	w.last = nil
	if chunk, isText := chunk.(*file.ByteArrayColumnChunkWriter); isText && chunk.Descr().MaxRepetitionLevel() > 0 {
		return w.lists(c, chunk)
	}
	if texts, is := chunk.(*file.ByteArrayColumnChunkWriter); is {
		if done, err := w.indexed(c, texts); done || err != nil {
			return err
		}
	}
	for _, row := range w.pending {
		level := int16(0)
		if w.add(c.Cell(row)) {
			level = 1
		}
		w.defined = append(w.defined, level)
	}
	var err error
	switch chunk := chunk.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = chunk.WriteBatch(w.ints, w.defined, nil)
	case *file.BooleanColumnChunkWriter:
		_, err = chunk.WriteBatch(w.bools, w.defined, nil)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = chunk.WriteBatch(w.wei, w.defined, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = chunk.WriteBatch(w.texts, w.defined, nil)
	default:
		err = fmt.Errorf("no cells go into a %T", chunk)
	}
	return err
}

// add appends a cell to the values of its type. It returns false for null.
func (w *Writer[R]) add(cell any) bool {
	switch v := cell.(type) {
	case *Int:
		if v.Known {
			w.ints = append(w.ints, v.V)
		}
		return v.Known
	case *Signed:
		if v.Known {
			w.ints = append(w.ints, v.V)
		}
		return v.Known
	case *millisTime:
		if v.Known {
			w.ints = append(w.ints, v.Micros/1000)
		}
		return v.Known
	case *Time:
		if v.Known {
			w.ints = append(w.ints, v.Micros)
		}
		return v.Known
	case *Bool:
		if v.Known {
			w.bools = append(w.bools, v.V)
		}
		return v.Known
	case *Wei:
		return w.addBig(v.Hi, v.Lo, v.Known)
	case *Change:
		return w.addBig(v.Hi, v.Lo, v.Known)
	case *littleWei:
		if v.Known {
			little := w.space(32)
			clear(little)
			binary.LittleEndian.PutUint64(little, v.Lo)
			binary.LittleEndian.PutUint64(little[8:], v.Hi)
			w.wei = append(w.wei, little)
		}
		return v.Known
	case *Hash:
		return w.addHex(v.V[:], v.Known)
	case *Key:
		return w.addHex(v.V[:], v.Known)
	case *Address:
		return w.addHex(v.V[:], v.Known)
	case *Text:
		return w.addText(string(*v))
	case *Blob:
		return w.addText(string(*v))
	}
	panic(fmt.Sprintf("a cell cannot be a %T", cell))
}

func (w *Writer[R]) addBig(hi, lo uint64, known bool) bool {
	if known {
		big := w.space(16)
		binary.BigEndian.PutUint64(big, hi)
		binary.BigEndian.PutUint64(big[8:], lo)
		w.wei = append(w.wei, big)
	}
	return known
}

// hexDigits has the two digits of each byte. Nearly all that is written is digits.
var hexDigits = func() (all [256]uint16) {
	for i := range all {
		all[i] = binary.LittleEndian.Uint16([]byte(fmt.Sprintf("%02x", i)))
	}
	return all
}()

func (w *Writer[R]) addHex(raw []byte, known bool) bool {
	switch {
	case !known:
		return false
	case bytes.Equal(raw, w.last):
		w.texts = append(w.texts, w.texts[len(w.texts)-1])
		return true
	}
	w.texts, w.last = append(w.texts, w.hexText(raw)), raw
	return true
}

// hexText writes bytes as text with 0x.
func (w *Writer[R]) hexText(raw []byte) []byte {
	text := w.space(2 + 2*len(raw))
	text[0], text[1] = '0', 'x'
	for i, b := range raw {
		binary.LittleEndian.PutUint16(text[2+2*i:], hexDigits[b])
	}
	return text
}

func (w *Writer[R]) addText(s string) bool {
	if s == "" {
		return false
	}
	text := w.space(len(s))
	copy(text, s)
	w.texts = append(w.texts, text)
	return true
}

// space returns n bytes that stay until the column is written. When the arena is full a new one
// begins, because values point into the old one.
func (w *Writer[R]) space(n int) []byte {
	if cap(w.arena)-len(w.arena) < n {
		w.arena = make([]byte, 0, max(1<<20, n))
	}
	at := len(w.arena)
	w.arena = w.arena[:at+n]
	return w.arena[at : at+n : at+n]
}
