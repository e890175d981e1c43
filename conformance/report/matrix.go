package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

//go:embed matrix.html
var matrixText string

var matrixPage = template.Must(template.New("matrix").Parse(matrixText))

// Matrix sets reports of several implementations, versions or forks side by side.
type Matrix struct {
	Columns []MatrixColumn
	// Rows are the clauses that any of the reports judged. Those on which the reports differ, or that
	// do not pass everywhere, come first.
	Rows []MatrixRow
}

// MatrixColumn is one report.
type MatrixColumn struct {
	Name, Mode, Outcome, Headline string
	Exit                          int
}

// MatrixRow is a clause with its verdict in each report, in the order of the columns.
type MatrixRow struct {
	ID, Level, Rule string
	Cells           []MatrixCell
	// Open says that the clause does not pass in every report.
	Open bool
}

// MatrixCell is a verdict, and why in words.
type MatrixCell struct {
	Verdict clauses.Verdict
	Why     string
}

// NewMatrix makes the matrix of reports.
func NewMatrix(reports []*Report) Matrix {
	m := Matrix{}
	rows := map[string]*MatrixRow{}
	var order []string
	for at, r := range reports {
		passed, all := r.musts()
		m.Columns = append(m.Columns, MatrixColumn{
			Name: strings.Join(strings.Fields(r.Target.Implementation.Project+" "+r.Target.Implementation.Version+" "+r.Fork),
				" "),
			Mode: r.Mode, Outcome: r.Outcome(), Exit: r.Exit, Headline: fmt.Sprintf("%d of %d MUST", passed, all),
		})
		for _, c := range r.Clauses {
			row := rows[c.ID]
			if row == nil {
				row = &MatrixRow{ID: c.ID, Level: string(c.Level), Rule: c.Rule, Cells: make([]MatrixCell, len(reports))}
				for i := range row.Cells {
					row.Cells[i].Verdict = clauses.NotRun
				}
				rows[c.ID] = row
				order = append(order, c.ID)
			}
			row.Cells[at] = MatrixCell{c.Verdict, oneLine(c.Why)}
		}
	}
	for _, id := range order {
		row := rows[id]
		if !slices.ContainsFunc(row.Cells, func(c MatrixCell) bool { return c.Verdict != clauses.NotRun }) {
			continue
		}
		row.Open = slices.ContainsFunc(row.Cells, func(c MatrixCell) bool { return !isGood(c.Verdict) })
		m.Rows = append(m.Rows, *row)
	}
	slices.SortStableFunc(m.Rows, func(a, b MatrixRow) int {
		switch {
		case a.Open == b.Open:
			return 0
		case a.Open:
			return -1
		default:
			return 1
		}
	})
	return m
}

// HTML writes the matrix as one page that loads nothing.
func (m Matrix) HTML(out io.Writer) error {
	if err := matrixPage.Execute(out, m); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}
