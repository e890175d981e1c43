package display

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// paint has the styles of the display. Without color they change nothing.
type paint struct {
	title, faint, open, good, warn, bad, none lipgloss.Style
}

// newPaint uses the sixteen colors that a terminal's theme defines, so that they are readable on
// light and dark backgrounds.
func newPaint(out io.Writer, color bool) paint {
	r := lipgloss.NewRenderer(out)
	r.SetColorProfile(termenv.Ascii)
	if color {
		r.SetColorProfile(termenv.ANSI)
	}
	style := r.NewStyle
	return paint{
		title: style().Bold(true), faint: style().Faint(true), open: style().Foreground(lipgloss.Color("6")),
		good: style().Foreground(lipgloss.Color("2")), warn: style().Foreground(lipgloss.Color("3")),
		bad: style().Foreground(lipgloss.Color("1")), none: style(),
	}
}

// slot returns the style of a slot's row. Good rows are plain, so that the others stand out.
func (p paint) slot(s Slot) lipgloss.Style {
	switch outcome(s) {
	case "bidding":
		return p.open
	case "landed":
		return p.none
	case "no delivery":
		return p.warn
	default:
		return p.bad
	}
}
