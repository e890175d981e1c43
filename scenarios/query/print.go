package query

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Formats are how an answer can be written.
var Formats = []string{"table", "csv", "json"}

// Write writes an answer in one of Formats. JSON has an object for each row, whose cells are texts
// or null, so that no reader rounds a wei.
func (a *Answer) Write(out io.Writer, format string) error {
	switch format {
	case "csv":
		return a.writeCSV(out)
	case "json":
		return a.writeJSON(out)
	default:
		return a.writeTable(out)
	}
}

func (a *Answer) writeTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(cells []string) { fmt.Fprintln(table, strings.TrimRight(strings.Join(cells, "\t"), "\t ")) }
	line(a.Columns)
	for _, row := range a.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(orNull(cell))
		}
		line(cells)
	}
	return table.Flush()
}

// oneLine keeps a cell from breaking the table.
func oneLine(text string) string {
	return strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(text)
}

func orNull(cell *string) string {
	if cell == nil {
		return "NULL"
	}
	return *cell
}

func (a *Answer) writeCSV(out io.Writer) error {
	lines := csv.NewWriter(out)
	if err := lines.Write(a.Columns); err != nil {
		return err
	}
	for _, row := range a.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cell != nil {
				cells[i] = *cell
			}
		}
		if err := lines.Write(cells); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}

func (a *Answer) writeJSON(out io.Writer) error {
	rows := make([]json.RawMessage, len(a.Rows))
	for i, row := range a.Rows {
		var object strings.Builder
		for j, cell := range row { // in the order of the columns, which a map would lose
			name, err := json.Marshal(a.Columns[j])
			if err != nil {
				return err
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return err
			}
			if j > 0 {
				object.WriteByte(',')
			}
			fmt.Fprintf(&object, "%s:%s", name, value)
		}
		rows[i] = json.RawMessage("{" + object.String() + "}")
	}
	document, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", document)
	return err
}
