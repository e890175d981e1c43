package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Comparison sets several reports side by side: a row for each phase, kind and figure.
type Comparison struct {
	Reports []*Report `json:"reports"`
	Rows    []Row     `json:"rows"`
	// Unlike says in what the settings differ, which makes the figures hard to compare.
	Unlike []string `json:"unlike,omitempty"`
}

// Row is one figure of all reports. An empty cell is one that a report does not have.
type Row struct {
	Phase  string   `json:"phase"`
	Kind   Kind     `json:"kind"`
	Figure string   `json:"figure"`
	Cells  []string `json:"cells"`
}

// figures are the figures that are compared.
var figures = []struct {
	name string
	of   func(*Measure) string
}{
	{"good/s", func(m *Measure) string { return fmt.Sprintf("%.1f", m.PerSecond) }},
	{"not good", func(m *Measure) string { return fmt.Sprint(m.Requests - m.Good) }},
	{"p50 ms", func(m *Measure) string { return m.ms(0.5) }},
	{"p99 ms", func(m *Measure) string { return m.ms(0.99) }},
	{"max ms", func(m *Measure) string { return m.ms(1) }},
}

// Compare compares reports.
func Compare(reports []*Report) *Comparison {
	c := &Comparison{Reports: reports}
	for _, name := range c.Phases() {
		c.Rows = append(c.Rows, c.row(name, "all", "good/s", func(r *Report) string {
			if p := r.Part(name); p != nil {
				return fmt.Sprintf("%.1f", p.PerSecond)
			}
			return ""
		}))
		for _, kind := range c.Kinds(name) {
			for _, f := range figures {
				c.Rows = append(c.Rows, c.row(name, kind, f.name, func(r *Report) string {
					if p := r.Part(name); p != nil {
						if m := p.Measure(kind); m != nil {
							return f.of(m)
						}
					}
					return ""
				}))
			}
		}
	}
	for _, fault := range c.faults() {
		c.Rows = append(c.Rows, c.row("", "", string(fault), func(r *Report) string {
			for _, f := range r.Faults {
				if f.Fault == fault {
					return fmt.Sprintf("%d of %d", f.Found, f.Checked)
				}
			}
			return ""
		}))
	}
	first := reports[0]
	for _, r := range reports[1:] {
		if a, b := first.Setting.About(), r.Setting.About(); a != b {
			c.Unlike = append(c.Unlike, fmt.Sprintf("%s: %s", first.Target, a), fmt.Sprintf("%s: %s", r.Target, b))
		}
	}
	slices.Sort(c.Unlike)
	c.Unlike = slices.Compact(c.Unlike)
	return c
}

func (c *Comparison) row(phase string, kind Kind, figure string, cell func(*Report) string) Row {
	row := Row{Phase: phase, Kind: kind, Figure: figure}
	for _, r := range c.Reports {
		row.Cells = append(row.Cells, cell(r))
	}
	return row
}

// Phases returns the names of all phases, in the order in which they come up.
func (c *Comparison) Phases() (names []string) {
	for _, r := range c.Reports {
		for _, p := range r.Phases {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// faults returns all faults that a report has looked for.
func (c *Comparison) faults() (list []Fault) {
	for _, r := range c.Reports {
		for _, f := range r.Faults {
			if !slices.Contains(list, f.Fault) {
				list = append(list, f.Fault)
			}
		}
	}
	return list
}

// Kinds returns all kinds of a phase, in the order in which they come up.
func (c *Comparison) Kinds(phase string) (kinds []Kind) {
	for _, r := range c.Reports {
		p := r.Part(phase)
		for i := 0; p != nil && i < len(p.Measures); i++ {
			if kind := p.Measures[i].Kind; !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// Table writes the comparison for a terminal.
func (c *Comparison) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(w, "phase\tkind\tfigure")
	for _, r := range c.Reports {
		fmt.Fprintf(w, "\t%s", r.Target)
	}
	fmt.Fprintln(w)
	for _, row := range c.Rows {
		fmt.Fprintf(w, "%s\t%s\t%s", row.Phase, row.Kind, row.Figure)
		for _, cell := range row.Cells {
			fmt.Fprintf(w, "\t%s", cell)
		}
		fmt.Fprintln(w)
	}
	if len(c.Unlike) > 0 {
		fmt.Fprintln(w, "\nThe runs were not alike:")
	}
	for _, text := range c.Unlike {
		fmt.Fprintln(w, text)
	}
	return w.Flush()
}
