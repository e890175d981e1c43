package display

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holiman/uint256"
)

const (
	liveRows  = 15 // slots shown at most
	liveNotes = 3  // notes shown at most
)

// live repaints one screen in place: title, endpoints, the last slots, totals, what became of
// orders, the last notes. It never clears what stood above it.
type live struct {
	mu    sync.Mutex // guards all below
	out   io.Writer
	size  func() (width, height int)
	paint paint

	run     Run
	slots   []Slot // by number, the last liveRows of them
	notes   []string
	total   Summary // what the finished slots have brought so far, and orders to this moment
	painted int     // lines that the last repaint left on the screen
}

// Start implements Output.
func (l *live) Start(run Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = run
	l.repaint()
}

// Slot implements Output: the first word of a slot adds a row, later ones replace it.
func (l *live) Slot(s Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.replace(s) {
		l.slots = append(l.slots, s)
		l.slots = l.slots[max(0, len(l.slots)-liveRows):]
	}
	if !s.Open {
		l.count(s)
	}
	l.repaint()
}

// replace puts a slot into the row that it has already; it may be an older one that was finished
// late.
func (l *live) replace(s Slot) bool {
	for i := range l.slots {
		if l.slots[i].Number == s.Number {
			l.slots[i] = s
			return true
		}
	}
	return false
}

func (l *live) count(s Slot) {
	l.total.Slots++
	switch s.Winner {
	case "":
		l.total.Missed++
	case Local:
		l.total.Local++
	}
	if s.Delivered {
		l.total.Delivered++
	}
	if s.Delivered && s.Landed {
		l.total.Landed++
		if s.TopWei != nil {
			if l.total.PaidWei == nil {
				l.total.PaidWei = new(uint256.Int)
			}
			l.total.PaidWei.Add(l.total.PaidWei, s.TopWei)
		}
	}
}

// Flow implements Output.
func (l *live) Flow(f Flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Flow = f
	l.repaint()
}

// Note implements Output.
func (l *live) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, oneLine(text))
	l.notes = l.notes[max(0, len(l.notes)-liveNotes):]
	l.repaint()
}

// Done implements Output: the table stays as it is, the summary goes below it.
func (l *live) Done(s Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.repaint()
	_, _ = io.WriteString(l.out, strings.Join(s.lines(l.paint), "\n")+"\n") // as in repaint
	l.painted = 0
}

// repaint moves the cursor to the first line of the last picture and writes the new one over it. A
// terminal that has gone away is no reason to stop the run. Called with mu held.
func (l *live) repaint() {
	width, height := l.size()
	lines := l.picture(layoutFor(width), height)
	var b strings.Builder
	if l.painted > 0 {
		fmt.Fprintf(&b, "\x1b[%dF", l.painted) // to the beginning of the line so many lines up
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n") // what is left of the old line is erased
	}
	b.WriteString("\x1b[J") // and what is left of the old lines
	l.painted = len(lines)
	_, _ = io.WriteString(l.out, b.String())
}

// picture is the whole screen. A low terminal loses old slots first: the cursor cannot go back to
// lines that have scrolled away.
func (l *live) picture(to layout, height int) []string {
	head := []string{l.paint.title.Render(to.cut(l.headline()))}
	for _, line := range l.run.endpoints() {
		head = append(head, to.cut(line))
	}
	head = append(head, "", l.paint.faint.Render(to.header()))
	tail := []string{"", to.cut(l.totals())}
	if !l.total.Flow.none() {
		for _, line := range l.total.Flow.lines(to.width) {
			tail = append(tail, to.cut(line))
		}
	}
	for _, note := range l.notes {
		tail = append(tail, l.paint.faint.Render(to.cut("note: "+note)))
	}
	var rows []string
	for _, s := range l.slots {
		rows = append(rows, l.paint.slot(s).Render(to.row(s)))
		if extra := to.extra(s); extra != "" {
			rows = append(rows, extra)
		}
	}
	if height > 0 {
		room := max(1, height-1-len(head)-len(tail))
		rows = rows[max(0, len(rows)-room):]
	}
	lines := append(append(head, rows...), tail...)
	if height > 1 {
		lines = lines[max(0, len(lines)-(height-1)):]
	}
	return lines
}

// headline names the slot and how far the chain's clock has come.
func (l *live) headline() string {
	parts := []string{"gavel devnet"}
	if len(l.slots) > 0 {
		newest := l.slots[len(l.slots)-1].Number
		parts = append(parts, fmt.Sprintf("slot %d", newest))
		if l.run.Slots > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d done", l.total.Slots, l.run.Slots))
		}
		parts = append(parts, fmt.Sprintf("chain time %v", time.Duration(newest)*l.run.SlotDuration))
	}
	return strings.Join(append(parts, fmt.Sprintf("%gx as fast as the wall", l.run.Speed)), " · ")
}

func (l *live) totals() string {
	t := l.total
	return fmt.Sprintf("%d delivered · %d landed · %d local · %d missed · %s won", t.Delivered, t.Landed, t.Local,
		t.Missed, Ether(t.PaidWei))
}
