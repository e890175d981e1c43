package query

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"time"
)

// Answer is what a statement returns. Cells are texts as they are printed; nil is NULL.
type Answer struct {
	Columns []string
	Rows    [][]*string
}

// mostRows bounds the rows of an answer that is held in memory.
const mostRows = 1_000_000

// Ask runs one statement and returns its rows. A question that has more than a million is refused:
// COPY (…) TO 'file' writes as many as there are.
func (db *DB) Ask(ctx context.Context, statement string) (answer *Answer, err error) {
	rows, err := db.sql.QueryContext(ctx, statement)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	defer func() {
		if closing := rows.Close(); err == nil && closing != nil {
			err = fmt.Errorf("read rows: %w", closing)
		}
	}()
	answer = new(Answer)
	if answer.Columns, err = rows.Columns(); err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	cells := make([]any, len(answer.Columns))
	places := make([]any, len(cells))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if len(answer.Rows) == mostRows {
			return nil, fmt.Errorf("the answer has more than %d rows: add a LIMIT, or write it by COPY (…) TO 'file.csv'",
				mostRows)
		}
		if err := rows.Scan(places...); err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		row := make([]*string, len(cells))
		for i, cell := range cells {
			row[i] = text(cell)
		}
		answer.Rows = append(answer.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return answer, nil
}

// text is a cell as it is printed: whole numbers with all their digits, times in UTC.
func text(cell any) *string {
	var is string
	switch cell := cell.(type) {
	case nil:
		return nil
	case string:
		is = cell
	case []byte:
		is = fmt.Sprintf("%#x", cell)
	case time.Time:
		is = cell.UTC().Format("2006-01-02T15:04:05.999999Z")
	case float64:
		is = strconv.FormatFloat(cell, 'f', -1, 64)
	case *big.Int:
		is = cell.String()
	default:
		is = fmt.Sprint(cell)
	}
	return &is
}
