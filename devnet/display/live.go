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

// live repaints one screen in place: title, endpoints, the last slots, totals, counts of orders,
// the last notes. It never erases what was above it.
type live struct {
	mu    sync.Mutex // guards all fields below
	out   io.Writer
	size  func() (width, height int)
	paint paint

	run     Run
	slots   []Slot // the last liveRows of them, in the order of their first call
	notes   []string
	total   Summary // sums over the finished slots, and the latest counts of orders
	painted int     // lines on the screen since the last repaint
}

// Start implements Output.
func (l *live) Start(run Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = run
	l.repaint()
}

// Slot implements Output: the first call for a slot adds a row, later ones replace it.
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

// replace puts a slot into its row, if it has one. That may be an older row, if the slot finished
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

// Done implements Output: the table stays, and the summary goes below it.
func (l *live) Done(s Summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.repaint()
	_, _ = io.WriteString(l.out, strings.Join(s.lines(l.paint), "\n")+"\n") // ignores errors, as repaint does
	l.painted = 0
}

// repaint moves the cursor to the first line of the last picture and writes the new one over it. It
// ignores errors: if the terminal is gone, the run goes on. The caller holds mu.
func (l *live) repaint() {
	width, height := l.size()
	lines := l.picture(layoutFor(width), height)
	var b strings.Builder
	if l.painted > 0 {
		fmt.Fprintf(&b, "\x1b[%dF", l.painted) // moves the cursor up to the beginning of the first line
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n") // erases the rest of the old line
	}
	b.WriteString("\x1b[J") // erases the old lines below
	l.painted = len(lines)
	_, _ = io.WriteString(l.out, b.String())
}

// picture returns the lines of the whole screen. On a terminal with few lines, old slots are left
// out first, because the cursor cannot go back to lines that have scrolled away.
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

// headline names the newest slot and the chain time.
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
