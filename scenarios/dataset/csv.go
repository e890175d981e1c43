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
	w := csv.NewWriter(out)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Name
	}
	if header {
		if err := w.Write(record); err != nil {
			return fmt.Errorf("write the header of %s: %w", t.Name, err)
		}
	}
	for n := range rows {
		for i, c := range t.Columns {
			record[i] = cellText(c.Cell(&rows[n]))
		}
		if err := w.Write(record); err != nil {
			return fmt.Errorf("write row %d of %s: %w", n+1, t.Name, err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("write %s: %w", t.Name, err)
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
