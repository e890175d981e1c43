package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// textList is a list of names in files of others. In our tables it is one text, with a space
// between two names.
type textList Text

// listNode describes a column of lists.
func listNode(name string) (schema.Node, error) {
	element, err := schema.NewPrimitiveNodeLogical("element", parquet.Repetitions.Required, schema.StringLogicalType{},
		parquet.Types.ByteArray, -1, -1)
	if err != nil {
		return nil, err
	}
	return schema.ListOfWithName(name, element, parquet.Repetitions.Required, -1)
}

// lists writes the column of lists of the pending rows. An empty list has one level without a
// value.
func (w *Writer[R]) lists(c Column[R], chunk *file.ByteArrayColumnChunkWriter) error {
	var repeated []int16
	for _, row := range w.pending {
		names := strings.Fields(string(*c.Cell(row).(*textList)))
		for i, name := range names {
			w.addText(name)
			w.defined, repeated = append(w.defined, 1), append(repeated, int16(min(i, 1)))
		}
		if len(names) == 0 {
			w.defined, repeated = append(w.defined, 0), append(repeated, 0)
		}
	}
	_, err := chunk.WriteBatch(w.texts, w.defined, repeated)
	return err
}

// listLevels are the levels of a column of lists that one step has read: at each of them begins a
// list, or goes on, and it has a value if it is defined.
type listLevels struct {
	defs, reps []int16
	values     []parquet.ByteArray
	read       int // levels
	at, value  int // the next ones
}

var errListDamaged = errors.New("its lists are damaged")

// readLists reads the lists of so many rows, each as one text.
func (c *column) readLists(rows int) error {
	chunk, isText := c.chunk.(*file.ByteArrayColumnChunkReader)
	if !isText || c.maxRep > 1 {
		return errors.New("lists of this kind are not read")
	}
	c.lists, c.index = sized(c.lists, rows), sized(c.index, rows)
	for i := range rows {
		text, err := c.nextList(chunk)
		if err != nil {
			return err
		}
		c.lists[i], c.index[i] = text, int32(i)
		if text == "" {
			c.index[i] = -1
		}
	}
	return nil
}

// nextList reads levels until another list begins.
func (c *column) nextList(chunk *file.ByteArrayColumnChunkReader) (string, error) {
	l := &c.levels
	var names []string
	for first := true; ; first = false {
		if l.at == l.read {
			if err := l.fill(chunk); err != nil {
				return "", err
			}
		}
		switch {
		case l.read == 0 && first:
			return "", errShortColumn
		case l.read == 0, !first && l.reps[l.at] == 0:
			return strings.Join(names, " "), nil
		case first && l.reps[l.at] != 0:
			return "", errListDamaged
		}
		if l.defs[l.at] == c.maxDef {
			if l.value >= len(l.values) {
				return "", errListDamaged
			}
			names = append(names, string(l.values[l.value]))
			l.value++
		}
		l.at++
	}
}

// fill reads more levels; there are none at the end of a row group.
func (l *listLevels) fill(chunk *file.ByteArrayColumnChunkReader) error {
	l.defs, l.reps = sized(l.defs, batchRows), sized(l.reps, batchRows)
	l.values = sized(l.values[:cap(l.values)], batchRows)
	read, values, err := chunk.ReadBatch(batchRows, l.values, l.defs, l.reps)
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	l.values, l.read, l.at, l.value = l.values[:values], int(read), 0, 0
	return nil
}
