package dataset

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// WriteCSV writes rows of a table, with a header if it is asked for: amounts as decimal numbers,
// times in RFC 3339 with microseconds, null as an empty field.
func WriteCSV[R any](t *Table[R], rows []R, header bool, out io.Writer) error {
	w := &CSVWriter[R]{table: t, out: csv.NewWriter(out)}
	if header {
		if err := w.header(); err != nil {
			return err
		}
	}
	for n := range rows {
		if err := w.Write(&rows[n]); err != nil {
			return err
		}
	}
	return w.Close()
}

// CSVWriter writes rows of a table as WriteCSV does, one by one.
type CSVWriter[R any] struct {
	table *Table[R]
	out   *csv.Writer
}

// NewCSVWriter writes the header.
func NewCSVWriter[R any](t *Table[R], out io.Writer) (*CSVWriter[R], error) {
	w := &CSVWriter[R]{table: t, out: csv.NewWriter(out)}
	return w, w.header()
}

func (w *CSVWriter[R]) header() error {
	if err := w.out.Write(w.table.names()); err != nil {
		return fmt.Errorf("write the header of %s: %w", w.table.Name, err)
	}
	return nil
}

// Write implements RowWriter.
func (w *CSVWriter[R]) Write(row *R) error {
	if err := w.out.Write(w.table.texts(row)); err != nil {
		return fmt.Errorf("write a row of %s: %w", w.table.Name, err)
	}
	return nil
}

// Close implements RowWriter.
func (w *CSVWriter[R]) Close() error {
	w.out.Flush()
	if err := w.out.Error(); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// cellText writes a cell as text; null is empty.
func cellText(cell any) string {
	switch v := cell.(type) {
	case *Int:
		if v.Known {
			return strconv.FormatInt(v.V, 10)
		}
	case *Signed:
		if v.Known {
			return strconv.FormatInt(v.V, 10)
		}
	case *Time:
		if v.Known {
			return time.UnixMicro(v.Micros).UTC().Format("2006-01-02T15:04:05.000000Z")
		}
	case *Bool:
		if v.Known {
			return strconv.FormatBool(v.V)
		}
	case *Wei:
		return v.String()
	case *Change:
		return v.String()
	case *Hash:
		return hexText(v.V[:], v.Known)
	case *Key:
		return hexText(v.V[:], v.Known)
	case *Address:
		return hexText(v.V[:], v.Known)
	case *Text:
		return string(*v)
	case *Blob:
		return hexText([]byte(*v), *v != "")
	default:
		panic(fmt.Sprintf("a cell cannot be a %T", cell))
	}
	return ""
}

func hexText(raw []byte, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprintf("%#x", raw)
}
