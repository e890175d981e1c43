package display

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// column is one column of the table. Columns of numbers are aligned to the right.
type column struct {
	title string
	width int
	right bool
	cell  func(Slot) string
}

const (
	gap        = 2
	sparkWidth = 8
	// noteWidth is the smallest useful width of the column of notes.
	noteWidth = 16
)

// columns are in the order in which they are shown.
var columns = []column{
	{"slot", 4, true, func(s Slot) string { return strconv.FormatUint(s.Number, 10) }},
	{"fork", 9, false, func(s Slot) string { return s.Fork.String() }},
	{"proposer", 8, true, func(s Slot) string { return strconv.FormatUint(s.Proposer, 10) }},
	{"bids", 4, true, func(s Slot) string { return strconv.Itoa(s.Bids) }},
	{"rising", sparkWidth, false, func(s Slot) string { return Sparkline(s.Values, sparkWidth) }},
	{"value", 13, true, value},
	{"winner", 10, false, winner},
	{"outcome", 11, false, outcome},
	{"txs", 4, true, func(s Slot) string { return count(s, s.Txs) }},
	{"blobs", 5, true, func(s Slot) string { return count(s, s.Blobs) }},
}

// dearest lists the columns by importance. A terminal that is too narrow loses the last ones first.
var dearest = []string{"slot", "outcome", "winner", "value", "bids", "rising", "txs", "fork", "proposer", "blobs"}

// layout is the choice of columns for a terminal's width.
type layout struct {
	columns []column
	// note is the width left for notes at the end of a row; 0 means that notes get lines of their
	// own.
	note int
	// width is that of the whole table; 0 means no limit.
	width int
}

// layoutFor chooses the columns that fit. A width of 0 means no limit.
func layoutFor(width int) layout {
	if width <= 0 {
		return layout{columns: columns, note: 1 << 16}
	}
	l, used := layout{width: width}, -gap
	var kept []string
	for _, name := range dearest {
		i := slices.IndexFunc(columns, func(c column) bool { return c.title == name })
		if used+gap+columns[i].width > width {
			break
		}
		used += gap + columns[i].width
		kept = append(kept, name)
	}
	for _, c := range columns {
		if slices.Contains(kept, c.title) {
			l.columns = append(l.columns, c)
		}
	}
	if rest := width - used - gap; rest >= noteWidth {
		l.note = rest
	}
	return l
}

// header returns the line above the rows.
func (l layout) header() string {
	return l.line(func(c column) string { return c.title })
}

// row returns a slot's line.
func (l layout) row(s Slot) string {
	line := l.line(func(c column) string { return c.cell(s) })
	if note := remark(s); l.note > 0 && note != "" {
		line = padRight(line, l.used()) + strings.Repeat(" ", gap) + ansi.Truncate(note, l.note, "…")
	}
	return l.cut(line)
}

// extra returns the line below a slot's row for a note that has no column; empty without a note.
func (l layout) extra(s Slot) string {
	text := join(s.Payload.text(), s.Note)
	if l.note > 0 || text == "" {
		return ""
	}
	return l.below(text)
}

// below returns a line that belongs to the row above it.
func (l layout) below(text string) string {
	return l.cut(strings.Repeat(" ", columns[0].width) + hook + text)
}

const hook = "  └ "

// room returns the width for the text of a line below a row; 0 means no limit.
func (l layout) room() int { return max(0, l.width-columns[0].width-ansi.StringWidth(hook)) }

func (l layout) used() int {
	used := -gap
	for _, c := range l.columns {
		used += gap + c.width
	}
	return used
}

func (l layout) line(cell func(column) string) string {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		if c.right {
			cells[i] = padLeft(cell(c), c.width)
		} else {
			cells[i] = padRight(cell(c), c.width)
		}
	}
	return strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " ")
}

// cut shortens a line to the table's width; the line may contain colors.
func (l layout) cut(line string) string {
	if l.width <= 0 {
		return line
	}
	return ansi.Truncate(line, l.width, "…")
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + text
}

func value(s Slot) string {
	if s.TopWei == nil {
		return "–"
	}
	return Ether(s.TopWei)
}

func winner(s Slot) string {
	if s.Winner == "" {
		return "–"
	}
	return s.Winner
}

// count returns a number of things in a block, or a dash if there is no block yet.
func count(s Slot, n int) string {
	if s.Winner == "" || s.Open {
		return "–"
	}
	return strconv.Itoa(n)
}

// outcome says in a word or two how a slot ended.
func outcome(s Slot) string {
	switch {
	case s.Open:
		return "bidding"
	case s.Winner == "":
		return "missed"
	case s.Winner == Local:
		return "no delivery"
	case !s.Delivered:
		return "undelivered"
	case !s.Landed:
		return "not landed"
	default:
		return "landed"
	}
}

// remark returns what is shown at the end of a row: from gloas on what became of the payload; the
// note, or else how long the stages took.
func remark(s Slot) string {
	if s.Note != "" {
		return join(s.Payload.text(), s.Note)
	}
	parts := make([]string, len(s.Took))
	for i, stage := range s.Took {
		parts[i] = stage.Name + " " + short(stage.Took)
	}
	return join(s.Payload.text(), strings.Join(parts, ", "))
}

// join puts a comma between two texts, unless one is empty.
func join(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + ", " + second
}

// text says whether the payload is on the chain, who has seen it in time, and how the proposer is
// paid; empty without one.
func (p *Payload) text() string {
	if p == nil {
		return ""
	}
	status := "EMPTY"
	if p.Full {
		status = "FULL"
	}
	text := fmt.Sprintf("%s %d/%d", status, p.Votes, p.Members)
	if p.ValueGwei > 0 {
		text += fmt.Sprintf(", %d Gwei of stake", p.ValueGwei)
	}
	if p.PaymentGwei > 0 {
		text += fmt.Sprintf(", %d Gwei in the payload", p.PaymentGwei)
	}
	return text
}

// short writes a wall time with its two or three leading digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
