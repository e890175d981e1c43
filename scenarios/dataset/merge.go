package dataset

import (
	"errors"
	"io"
)

// Merged says what came of merging rows into a file.
type Merged struct {
	// Added are rows that were not there, Known such that were.
	Added, Known int64
}

// Merge writes the union of the rows of a file and of more rows, which must be sorted. Old is nil
// if there is no file yet. At any time it holds one batch of the file.
func Merge[R any](t *Table[R], old *Reader[R], rows []*R, out *Writer[R]) (Merged, error) {
	var m Merged
	next := func() (*R, error) {
		if old == nil {
			return nil, nil
		}
		row, err := old.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return row, err
	}
	was, err := next()
	if err != nil {
		return m, err
	}
	for was != nil || len(rows) > 0 {
		order := -1
		switch {
		case was == nil:
			order = 1
		case len(rows) > 0:
			order = t.Compare(was, rows[0])
		}
		row := was
		switch {
		case order > 0:
			row, rows = rows[0], rows[1:]
			m.Added++
		case order == 0:
			t.unite(was, rows[0])
			rows = rows[1:]
			m.Known++
		}
		if err := out.Write(row); err != nil {
			return m, err
		}
		if order <= 0 {
			if was, err = next(); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}
