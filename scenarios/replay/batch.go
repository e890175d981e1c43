package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// batch holds the rows of an input that are not committed yet. It is the sink of the input's
// reader.
type batch struct {
	catalogue *catalogue
	input     *Input
	place     dataset.Place
	limit     int
	told      func(*Input)
	stopped   func() error // not nil: the import has to end after this batch
	from      int64        // the last row that was committed when the reading began
	held      bool         // whoever fills the batch hands it over: the rows of an answer stay together

	// writing has the error of the batch before, which is committed while this one is read; nil if
	// none is.
	writing chan error

	tables []dataset.Rows
	// order has for each good row the table that it is in.
	order []uint8
	bad   bytes.Buffer
	filled
	// newest is the latest hour of a row. Of all rows up to settled, and of none after it, it is
	// known that they may be of an earlier one; unsettled: so is one of the last place.
	newest    int64
	settled   filled
	unsettled bool
	// before is how far the batch was filled before the last place.
	before filled
}

// filled is how far a batch is filled, up to a place of the input.
type filled struct {
	rows, badRows, badBytes, at int64
}

// Row implements dataset.Sink.
func (b *batch) Row(at int64, row any) error {
	if at <= b.from {
		return nil
	}
	if err := b.begin(at); err != nil {
		return err
	}
	if b.tables == nil {
		for _, table := range dataset.Tables {
			b.tables = append(b.tables, table.NewRows())
		}
	}
	table := slices.IndexFunc(b.tables, func(t dataset.Rows) bool { return t.Take(row) })
	if table < 0 {
		return fmt.Errorf("a %T is a row of no table", row)
	}
	b.order = append(b.order, uint8(table))
	b.noteHour(b.tables[table].Hour(b.catalogue.Network))
	b.counted(at)
	return nil
}

// noteHour learns of which hour a row of the last place is.
func (b *batch) noteHour(hour int64) {
	switch {
	case hour > b.newest:
		b.newest, b.settled, b.unsettled = hour, b.before, b.rows > b.before.rows
	case hour < b.newest:
		b.unsettled = true
	}
}

// rejected is a line of a file of rows that cannot be imported.
type rejected struct {
	File   string        `json:"file"`
	Place  dataset.Place `json:"place"`
	At     int64         `json:"at"`
	Reason string        `json:"reason"`
	Text   string        `json:"text"`
}

// Bad implements dataset.Sink.
func (b *batch) Bad(at int64, text string, why error) error {
	if at <= b.from {
		return nil
	}
	if err := b.begin(at); err != nil {
		return err
	}
	line, err := json.Marshal(rejected{b.input.Name, b.place, at, why.Error(), text})
	if err != nil {
		return fmt.Errorf("keep a bad row: %w", err)
	}
	b.bad.Write(append(line, '\n'))
	b.badRows++
	b.badBytes = int64(b.bad.Len())
	b.counted(at)
	return nil
}

// Note implements dataset.Sink. It comes before the rows, when nothing is being committed.
func (b *batch) Note(text string) error {
	b.input.Note = text
	return nil
}

// maxBadBytes bounds what bad rows of one batch take in memory.
const maxBadBytes = 16 << 20

// begin hands over what is full before the first row of a place. So the rows of one place, of which
// a row of some formats makes two, are committed together or not at all.
func (b *batch) begin(at int64) error {
	if at == b.at {
		return nil
	}
	b.before = b.filled
	if b.unsettled {
		b.settled, b.unsettled = b.filled, false
	}
	if b.held || b.rows < int64(b.limit) && b.badBytes < maxBadBytes && b.bytes() < maxBytes {
		return nil
	}
	if err := b.handOver(b.complete()); err != nil {
		return err
	}
	return b.stopped()
}

// complete is how much of a full batch is handed over. Rows of the newest hour stay if they are
// few: more of them follow, and the hour's file would be written once now and once with those.
func (b *batch) complete() filled {
	few := b.rows-b.settled.rows <= int64(b.limit)/2
	if b.settled.rows > 0 && few && b.badBytes < maxBadBytes && b.bytes() < maxBytes {
		return b.settled
	}
	return b.filled
}

// maxBytes bounds what the rows of a batch take in memory, if rows of their table may take much.
const maxBytes = 24 << 20

func (b *batch) bytes() (sum int) {
	for _, t := range b.tables {
		sum += t.Bytes()
	}
	return sum
}

func (b *batch) counted(at int64) {
	b.rows++
	b.at = at
}

// handOver commits the rows up to a place beside the reading of the next ones, when the batch
// before is committed: so two batches at most are in memory.
func (b *batch) handOver(upTo filled) error {
	if err := b.settle(); err != nil {
		return err
	}
	full := b.split(upTo)
	b.writing = make(chan error, 1)
	go func() { b.writing <- full.commit() }()
	return nil
}

// split takes the rows up to a place out of the batch.
func (b *batch) split(upTo filled) *batch {
	full := &batch{catalogue: b.catalogue, input: b.input, place: b.place, told: b.told, filled: upTo}
	counts := make([]int, len(b.tables))
	good := upTo.rows - upTo.badRows
	for _, table := range b.order[:good] {
		counts[table]++
	}
	b.order = slices.Delete(b.order, 0, int(good))
	for i, rows := range b.tables {
		full.tables = append(full.tables, rows.Split(counts[i]))
	}
	full.bad.Write(b.bad.Next(int(upTo.badBytes)))
	b.rows, b.badRows, b.badBytes = b.rows-upTo.rows, b.badRows-upTo.badRows, b.badBytes-upTo.badBytes
	b.settled, b.before = filled{}, b.filled
	return full
}

// settle waits for the batch that is being committed. The input is not touched any more then.
func (b *batch) settle() error {
	if b.writing == nil {
		return nil
	}
	err := <-b.writing
	b.writing = nil
	return err
}

// commit writes the rows into the tables, and remembers in the catalogue how far the input is
// imported.
func (b *batch) commit() error {
	var renames [][2]string
	added, known := int64(0), b.rows-b.badRows
	for _, rows := range b.tables {
		made, merged, err := mergeTable(b.catalogue, rows)
		if err != nil {
			return err
		}
		renames = append(renames, made...)
		added += merged.Added
	}
	if b.bad.Len() > 0 {
		rename, err := b.writeBad()
		if err != nil {
			return err
		}
		renames = append(renames, rename)
	}
	in := b.input
	in.At, in.Rows, in.Bad = max(in.At, b.at), in.Rows+b.rows, in.Bad+b.badRows
	in.Added, in.Known = in.Added+added, in.Known+known-added
	if err := b.catalogue.commit(renames); err != nil {
		return err
	}
	b.told(in)
	return nil
}

// writeBad writes the side file of this batch. Its name has the place of its last row, so that a
// batch that is imported again has the same.
func (b *batch) writeBad() ([2]string, error) {
	name := fmt.Sprintf("%s-%d.ndjson", strings.NewReplacer("/", "_", "\\", "_").Replace(b.input.ID), b.at)
	file, rename, err := b.catalogue.create(path.Join("rejected", name))
	if err != nil {
		return rename, err
	}
	_, err = file.Write(b.bad.Bytes())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return rename, fmt.Errorf("write bad rows: %w", err)
	}
	b.catalogue.changed()
	return rename, nil
}

// mergeTable writes, for each hour that the rows are of, a new file with the old file's rows and
// these. Several hours are written at a time.
func mergeTable(c *catalogue, rows dataset.Rows) (_ [][2]string, all dataset.Merged, err error) {
	parts := rows.Parts(c.Network)
	sorted := slices.SortedFunc(maps.Keys(parts), dataset.ComparePart)
	renames, counts := make([][2]string, len(sorted)), make([]dataset.Merged, len(sorted))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range sorted {
		group.Go(func() (err error) {
			place := path.Join(rows.TableName(), part.Path())
			if renames[i], counts[i], err = mergePart(c, place, parts[part]); err != nil {
				return fmt.Errorf("write %s: %w", place, err)
			}
			c.changed()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, all, err
	}
	for _, merged := range counts {
		all.Added += merged.Added
		all.Known += merged.Known
	}
	return renames, all, nil
}

func mergePart(c *catalogue, place string, rows dataset.Rows) (rename [2]string, merged dataset.Merged, err error) {
	var old parquet.ReaderAtSeeker
	was, err := os.Open(filepath.Join(c.dir, place))
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, was.Close()) }()
		old = was
	case !errors.Is(err, fs.ErrNotExist):
		return rename, merged, err
	}
	file, rename, err := c.create(place)
	if err != nil {
		return rename, merged, err
	}
	merged, err = rows.Merge(c.Network, old, file)
	return rename, merged, errors.Join(err, file.Sync(), file.Close())
}
