package display

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// plain prints a line for each finished slot, and one below it for the counts of orders since the
// last slot. It is for pipes, logs and CI.
type plain struct {
	mu     sync.Mutex // guards out
	out    io.Writer
	layout layout
	paint  paint
}

// Start implements Output.
func (p *plain) Start(run Run) {
	p.print(run.title())
	for _, line := range run.endpoints() {
		p.print(line)
	}
	p.print("")
	p.print(p.paint.faint.Render(p.layout.header()))
}

// Slot implements Output; an open slot is not printed.
func (p *plain) Slot(s Slot) {
	if s.Open {
		return
	}
	lines := []string{p.paint.slot(s).Render(p.layout.row(s))}
	if !s.Flow.none() {
		for i, line := range s.Flow.lines(p.layout.room()) {
			if line = p.layout.below(line); i > 0 {
				line = strings.Replace(line, "└", " ", 1)
			}
			lines = append(lines, p.paint.faint.Render(line))
		}
	}
	if extra := p.layout.extra(s); extra != "" {
		lines = append(lines, extra)
	}
	p.print(lines...)
}

// Flow implements Output. It prints nothing, because each slot has its counts.
func (p *plain) Flow(Flow) {}

// Note implements Output.
func (p *plain) Note(text string) { p.print("note: " + oneLine(text)) }

// Done implements Output.
func (p *plain) Done(s Summary) { p.print(s.lines(p.paint)...) }

// print writes whole lines at once. It ignores errors: if the reader is gone, the run goes on.
func (p *plain) print(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, strings.Join(lines, "\n")+"\n")
}

// title describes the run in one line.
func (r Run) title() string {
	slots := "slots until stopped"
	if r.Slots > 0 {
		slots = plural(r.Slots, "slot", "slots")
	}
	wall := time.Duration(float64(r.SlotDuration) / max(r.Speed, 1e-6))
	return fmt.Sprintf("gavel devnet: %s of %v, %gx as fast (%s each), %s, %s", slots, r.SlotDuration,
		r.Speed, short(wall),
		plural(r.Validators, "validator", "validators"), plural(r.Builders, "builder", "builders"))
}

func (r Run) endpoints() []string {
	lines := make([]string, len(r.Endpoints))
	for i, e := range r.Endpoints {
		lines[i] = fmt.Sprintf("  %-13s %s", e.Name, e.URL)
	}
	return lines
}

// NoteWriter returns a writer that makes a note of each line. It is for a log.
func NoteWriter(out Output) io.Writer { return noteWriter{out} }

type noteWriter struct{ out Output }

// Write takes whole lines, as slog's handlers write them.
func (w noteWriter) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		w.out.Note(strings.TrimSuffix(line, "\n"))
	}
	return len(p), nil
}
