package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holiman/uint256"
)

// Page is what one address of the website shows.
type Page struct {
	Title string
	// Path is its address, such as /slot/7.
	Path string
	// Notes are sentences about what is shown.
	Notes  []string
	Fields []Field
	Tables []Table
	// Live: the page follows the auction of the slot that runs.
	Live bool
	// Fixed: the page will not change any more.
	Fixed bool
}

// Field is one thing that is said of the page's subject.
type Field struct {
	Name string // in JSON with _ for blanks, in lower case
	Cell
}

// Table is a list.
type Table struct {
	ID, Title string
	Columns   []string
	Rows      [][]Cell
	// Sorted is the column by which the rows are sorted, and Down whether the greatest comes first.
	// Empty is the order in which they were made.
	Sorted string
	Down   bool
}

// Cell is a value: as text for people, and as JSON for programs.
type Cell struct {
	Text string
	// Link is an address on this website; empty for none.
	Link string
	// Value is a string, an int64 or nil for JSON.
	Value any
	// order sorts cells of a column.
	order string
}

func text(s string) Cell { return Cell{Text: s, Value: s, order: s} }

func number(n int64) Cell {
	// The offset makes negative numbers positive, so that they sort as texts do.
	return Cell{Text: strconv.FormatInt(n, 10), Value: n, order: fmt.Sprintf("%020d", uint64(n)+1<<63)}
}

// ether is an amount: in ETH for people, in wei for programs.
func ether(valueWei *uint256.Int) Cell {
	if valueWei == nil {
		return Cell{Text: "–"}
	}
	return Cell{Text: Ether(valueWei), Value: valueWei.Dec(), order: fmt.Sprintf("%078s", valueWei.Dec())}
}

func builder(who Who) Cell {
	cell := Cell{Text: who.Label, Value: cmp.Or(who.Key, who.Label), order: who.Label}
	if who.Key != "" {
		cell.Link = "/builder/" + who.Key
	}
	return cell
}

// Ether is an amount in ETH, rounded down to a millionth.
func Ether(valueWei *uint256.Int) string {
	millionths := new(uint256.Int).Div(valueWei, uint256.NewInt(1e12))
	whole, part := new(uint256.Int).DivMod(millionths, uint256.NewInt(1e6), new(uint256.Int))
	return fmt.Sprintf("%s.%06d", whole.Dec(), part.Uint64())
}

func hex(b []byte) string { return fmt.Sprintf("%#x", b) }

// short is the beginning and the end of a key or hash.
func short(b []byte) string { return fmt.Sprintf("0x%x…%x", b[:4], b[len(b)-3:]) }

// sortCounts lists what was counted, the most frequent first.
func sortCounts(times map[string]int) []Count {
	var list []Count
	for _, name := range slices.Sorted(maps.Keys(times)) {
		list = append(list, Count{name, times[name]})
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Times, a.Times) })
	return list
}

// Sort sorts one table of the page by a column, as in "bids.value" or "-bids.value" with the
// greatest first. What names no column changes nothing.
func (p *Page) Sort(by string) {
	column, down := strings.CutPrefix(by, "-")
	id, name, _ := strings.Cut(column, ".")
	for i := range p.Tables {
		t := &p.Tables[i]
		place := slices.IndexFunc(t.Columns, func(c string) bool { return key(c) == name })
		if t.ID != id || place < 0 {
			continue
		}
		t.Sorted, t.Down = t.Columns[place], down
		slices.SortStableFunc(t.Rows, func(a, b []Cell) int {
			if down {
				a, b = b, a
			}
			return cmp.Compare(a[place].order, b[place].order)
		})
	}
}

// SortBy is the parameter that sorts the table by a column; for the column that it is sorted by, in
// the other direction.
func (t Table) SortBy(column string) string {
	by := t.ID + "." + key(column)
	if t.Sorted != column || !t.Down {
		return "-" + by
	}
	return by
}

// Direction is how the table is sorted by a column, in the words of aria-sort.
func (t Table) Direction(column string) string {
	switch {
	case t.Sorted != column:
		return "none"
	case t.Down:
		return "descending"
	}
	return "ascending"
}

// key is a name as a member of JSON and in parameters.
func key(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

// MarshalJSON writes fields as members, and tables as lists of objects.
func (p Page) MarshalJSON() ([]byte, error) {
	out := map[string]any{"title": p.Title}
	if len(p.Notes) > 0 {
		out["notes"] = p.Notes
	}
	for _, field := range p.Fields {
		out[key(field.Name)] = field.Value
	}
	for _, table := range p.Tables {
		rows := make([]map[string]any, len(table.Rows))
		for i, cells := range table.Rows {
			rows[i] = map[string]any{}
			for column, cell := range cells {
				rows[i][key(table.Columns[column])] = cell.Value
			}
		}
		out[table.ID] = rows
	}
	return json.Marshal(out)
}

// Markdown writes the page as a document.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", plain(p.Title))
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "%s\n\n", plain(note))
	}
	for _, field := range p.Fields {
		fmt.Fprintf(&b, "- %s: %s\n", plain(field.Name), writeLink(field.Cell))
	}
	for _, table := range p.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n", plain(table.Title))
		if len(table.Rows) == 0 {
			b.WriteString("None.\n")
			continue
		}
		b.WriteString("|")
		for _, column := range table.Columns {
			fmt.Fprintf(&b, " %s |", plain(column))
		}
		b.WriteString("\n|" + strings.Repeat("---|", len(table.Columns)) + "\n")
		for _, cells := range table.Rows {
			b.WriteString("|")
			for _, cell := range cells {
				fmt.Fprintf(&b, " %s |", writeLink(cell))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func writeLink(cell Cell) string {
	if cell.Link == "" {
		return plain(cell.Text)
	}
	return "[" + plain(cell.Text) + "](" + cell.Link + ")"
}

// marks are the characters that mean something in Markdown, or in the HTML that it may hold.
var marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`,
	"<", "&lt;", ">",
	"&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "\n", " ", "\r", " ", "!", `\!`, "~", `\~`)

// plain is a text that Markdown shows as it is.
func plain(s string) string { return marks.Replace(s) }
