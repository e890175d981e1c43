package dataset

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// maxDictionary is how many different cells a column of a row group has at most if they are
// numbered here. The library numbers them as well, three times as slowly, and stops when there are
// too many.
const maxDictionary = 4096

// dictionary numbers the different cells of a column in the order in which they come.
type dictionary struct {
	places map[string]int32
	texts  []parquet.ByteArray
	// index has the number of each row's cell, whatever it is for null.
	index []int32
	// last is the newest cell. Rows are sorted, so the next one is often the same.
	last   []byte
	lastAt int32
}

// number returns the number of a cell, or false if there are too many different ones.
func (d *dictionary) number(raw []byte, text func() []byte) bool {
	if d.last == nil || !bytes.Equal(raw, d.last) {
		at, known := d.places[string(raw)]
		if !known {
			if len(d.texts) == maxDictionary {
				return false
			}
			at = int32(len(d.texts))
			d.places[string(raw)] = at
			d.texts = append(d.texts, text())
		}
		d.last, d.lastAt = raw, at
	}
	d.index = append(d.index, d.lastAt)
	return true
}

// indexed writes the pending rows' cells of a column of text as numbers in a dictionary. It returns
// false, and has written nothing, if the cells are not of that kind or too many are different.
func (w *Writer[R]) indexed(c Column[R], chunk *file.ByteArrayColumnChunkWriter) (done bool, err error) {
	encoder, can := chunk.CurrentEncoder().(interface {
		PutDictionary(dictionary arrow.Array) error
	})
	if !can {
		return false, nil
	}
	d := &w.dictionary
	clear(d.places)
	d.texts, d.index, d.last = d.texts[:0], d.index[:0], nil
	for _, row := range w.pending {
		raw, hexadecimal := bytesOfCell(c.Cell(row))
		w.defined = append(w.defined, min(int16(len(raw)), 1))
		if len(raw) == 0 {
			d.index = append(d.index, 0)
			continue
		}
		if !d.number(raw, func() []byte { return w.textOf(raw, hexadecimal) }) {
			w.defined = w.defined[:0]
			return false, nil
		}
	}
	if len(d.texts) == 0 {
		w.defined = w.defined[:0]
		return false, nil
	}
	return true, w.writeIndexed(chunk, encoder.PutDictionary)
}

func (w *Writer[R]) writeIndexed(chunk *file.ByteArrayColumnChunkWriter, put func(arrow.Array) error) error {
	texts := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for _, text := range w.dictionary.texts {
		texts.Append(text)
	}
	values := texts.NewBinaryArray()
	if err := put(values); err != nil {
		return fmt.Errorf("number its cells: %w", err)
	}
	rows, known := len(w.pending), 0
	numbers := array.NewInt32Builder(memory.DefaultAllocator)
	numbers.Reserve(rows)
	for i, at := range w.dictionary.index {
		if w.defined[i] == 0 {
			numbers.UnsafeAppendBoolToBitmap(false)
			continue
		}
		numbers.UnsafeAppend(at)
		known++
	}
	if stats := chunk.PageStatistics(); stats != nil {
		stats.IncNulls(int64(rows - known))
		stats.IncNumValues(int64(known))
		if err := stats.UpdateFromArrow(values, false); err != nil {
			return fmt.Errorf("find its least and its greatest cell: %w", err)
		}
	}
	return chunk.WriteDictIndices(numbers.NewInt32Array(), w.defined, nil)
}

// bytesOfCell returns what tells cells of text apart, nothing for null, and whether that is written
// as hexadecimal text.
func bytesOfCell(cell any) (raw []byte, hexadecimal bool) {
	switch v := cell.(type) {
	case *Key:
		raw, hexadecimal = v.V[:], true
		if !v.Known {
			raw = nil
		}
	case *Address:
		raw, hexadecimal = v.V[:], true
		if !v.Known {
			raw = nil
		}
	case *Text:
		raw = unsafe.Slice(unsafe.StringData(string(*v)), len(*v)) // nobody writes into it
	}
	return raw, hexadecimal
}

// textOf is a cell's text. It stays until the column is written.
func (w *Writer[R]) textOf(raw []byte, hexadecimal bool) []byte {
	if !hexadecimal {
		return raw
	}
	return w.hexText(raw)
}
