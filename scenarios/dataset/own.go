package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
)

// Our own tables, as replay export writes them, and as the files of a data set are.

func ownCSV[R any](t *Table[R]) *Format {
	header := strings.Join(t.names(), ",")
	return &Format{
		Name: "csv", Place: Line, Doc: "this data set's table `" + t.Name + "`, in CSV; rows keep their `source`",
		begins: func(head []byte) bool {
			first, _, _ := strings.Cut(string(head), "\n")
			return strings.TrimSuffix(first, "\r") == header
		},
		Read: func(in io.Reader, from Origin, to Sink) error {
			return eachRecord(in, func(at int64, fields []string) error {
				row := new(R)
				err := t.parse(row, fields)
				if err == nil {
					err = t.check(row, from.Network)
				}
				if err != nil {
					return to.Bad(at, strings.Join(fields, ","), err)
				}
				t.complete(row, from)
				return to.Row(at, row)
			})
		},
	}
}

func ownParquet[R any](t *Table[R]) *Format {
	return &Format{
		Name: "parquet", Place: Row, Doc: "this data set's table `" + t.Name + "`, in Parquet; rows keep their `source`",
		columns: t.names(), needed: min(8, len(t.Columns)), // columns may be added
		ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
			rows, err := NewReader(t, from.Network, in)
			if err != nil {
				return err
			}
			for at := int64(1); ; at++ {
				row, err := rows.Next()
				switch {
				case errors.Is(err, io.EOF):
					return nil
				case err != nil:
					return fmt.Errorf("after row %d: %w", at-1, err)
				}
				if err := t.check(row, from.Network); err != nil {
					err = to.Bad(at, strings.Join(t.texts(row), ","), err)
					if err != nil {
						return err
					}
					continue
				}
				t.complete(row, from)
				if err := to.Row(at, row); err != nil {
					return err
				}
			}
		},
	}
}

// complete names the relay that the archive is of, if the row does not.
func (t *Table[R]) complete(row *R, from Origin) {
	if t.Relay == nil {
		return
	}
	if name := t.Relay(row); *name == "" {
		*name = Text(from.Relay)
	}
}

func (t *Table[R]) names() (all []string) {
	for _, c := range t.Columns {
		all = append(all, c.Name)
	}
	return all
}

func (t *Table[R]) texts(row *R) (all []string) {
	for _, c := range t.Columns {
		all = append(all, cellText(c.Cell(row)))
	}
	return all
}

// parse reads a row of CSV.
func (t *Table[R]) parse(row *R, fields []string) error {
	if len(fields) != len(t.Columns) {
		return fmt.Errorf("%d fields in place of %d", len(fields), len(t.Columns))
	}
	for i, c := range t.Columns {
		if err := parseCell(fields[i], c.Cell(row)); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// parseCell reads what cellText wrote.
func parseCell(text string, cell any) (err error) {
	switch v := cell.(type) {
	case *Int:
		*v, err = parseInt(text)
	case *Time:
		*v, err = parseMoment(text)
	case *Bool:
		*v, err = parseBool(text)
	case *Wei:
		if text != "" {
			*v, err = ParseWei(text)
		}
	case *Hash:
		v.Known, err = parseHex(text, v.V[:])
	case *Key:
		v.Known, err = parseHex(text, v.V[:])
	case *Address:
		v.Known, err = parseHex(text, v.V[:])
	case *Text:
		*v = Text(strings.Clone(text))
	default:
		return fmt.Errorf("a %T is not read from text", cell)
	}
	return err
}

func parseMoment(text string) (Time, error) {
	if text == "" {
		return Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.UnixMicro() < 0 || at.UnixMicro() > maxMicros {
		return Time{}, fmt.Errorf("%q is no time such as 2024-06-12T07:00:00.000001Z", cut(text))
	}
	return Time{at.UnixMicro(), true}, nil
}

// maxRecordBytes bounds what a quote that is never closed takes in memory.
const maxRecordBytes = 1 << 20

// eachRecord reads CSV with a header, which it leaves out.
func eachRecord(in io.Reader, do func(at int64, fields []string) error) error {
	return eachRecordFrom(in, 1, do)
}

// eachRecordFrom reads CSV without its first records. A record is named by the line on which it
// begins.
func eachRecordFrom(in io.Reader, without int, do func(at int64, fields []string) error) error {
	bounded := &boundedReader{in: in}
	records := csv.NewReader(bounded)
	records.FieldsPerRecord, records.ReuseRecord = -1, true
	last := int64(0)
	for {
		bounded.since = 0
		fields, err := records.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("after line %d: %w", last, err)
		}
		line, _ := records.FieldPos(0)
		last = int64(line)
		if without > 0 {
			without--
			continue
		}
		if err := do(last, fields); err != nil {
			return err
		}
	}
}

// boundedReader fails if a record becomes too long.
type boundedReader struct {
	in    io.Reader
	since int
}

// Read implements io.Reader.
func (b *boundedReader) Read(into []byte) (int, error) {
	if b.since > maxRecordBytes {
		return 0, errLongLine
	}
	n, err := b.in.Read(into)
	b.since += n
	return n, err
}
