package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Table writes the report for a terminal.
func (r *Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %s\n", r.Target, r.About())
	for i := range r.Phases {
		p := &r.Phases[i]
		fmt.Fprintf(w, "\n%s\n", p.Words())
		fmt.Fprintln(w, "\trequests\tgood\tgood/s\tp50 ms\tp90 ms\tp99 ms\tmax ms\tanswers")
		for _, m := range p.Measures {
			fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%s\t%s\t%s\t%s\t%s\n", m.Kind, m.Requests, m.Good, m.PerSecond, m.ms(0.5),
				m.ms(0.9), m.ms(0.99), m.ms(1), m.Answers())
		}
		if ratio := r.Ratio(p.Name); ratio > 0 {
			fmt.Fprintf(w, "a target that does nothing answered %.1f times as many, %.0f/s\n", ratio,
				r.Null.Part(p.Name).PerSecond)
		}
	}
	if len(r.Faults) > 0 {
		fmt.Fprintln(w, "\nwrong answers\tfound\tchecked")
	}
	for _, f := range r.Faults {
		fmt.Fprintf(w, "%s\t%d\t%d\n", f.Fault, f.Found, f.Checked)
	}
	for _, f := range r.Faults {
		if f.Example != "" {
			fmt.Fprintf(w, "  %s: %s\n", f.Fault, f.Example)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	return w.Flush()
}

// About says in words where and with what the load was made.
func (r *Report) About() string {
	words := fmt.Sprintf("%d processors (%s)", r.Machine.CPUs, r.Machine.Arch)
	if r.Machine.LoadBefore >= 0 {
		words += fmt.Sprintf(", load before %.1f", r.Machine.LoadBefore)
	}
	return words + "; " + r.Setting.About()
}

// About says in words with what the load was made.
func (s Setting) About() string {
	words := []string{"mix " + s.Mix}
	if s.Builders > 0 {
		words = append(words, fmt.Sprintf("%d builders, of whom %d cancel bids and each %d submit the same block", s.Builders,
			s.Cancelling, s.SameBlock),
			fmt.Sprintf("blocks of %s kB with %d blobs as %s", join(s.BlockKB), s.Blobs, strings.Join(s.Formats, ", ")),
			fmt.Sprintf("%d validators, %d registrations a request", s.Validators, s.Batch),
			fmt.Sprintf("slots of %g s of %s", s.SlotSeconds, s.Fork))
	}
	if s.Listeners > 0 {
		words = append(words, fmt.Sprintf("%d listeners of the stream", s.Listeners))
	}
	return strings.Join(words, "; ")
}

func join(numbers []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ", "), "[]")
}

// Words says in words what a phase was.
func (p *Part) Words() string {
	rate := "as fast as the connections get answers"
	if p.Phase.PerSecond > 0 {
		rate = fmt.Sprintf("%g requests/s", p.Phase.PerSecond)
	}
	return fmt.Sprintf("%s: %s, %d connections, %s of load: %.1f good answers/s", p.Name, rate, p.Connections,
		p.Loaded.Round(100*time.Millisecond), p.PerSecond)
}

// Answers writes how many answers had which status, the smallest status first.
func (m *Measure) Answers() string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(m.Statuses)) {
		parts = append(parts, fmt.Sprintf("%s: %d", status, m.Statuses[status]))
	}
	return strings.Join(parts, ", ")
}

// ms writes a quantile in milliseconds.
func (m *Measure) ms(share float64) string {
	if m.Good == 0 {
		return "-"
	}
	return formatMs(m.At(share))
}

func formatMs(ms float64) string {
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.2f", ms)
	}
}
