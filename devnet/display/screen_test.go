package display

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// screen is a terminal that knows the three movements that the live manner makes. Anything else is
// shown as it is, so that it would be seen in a golden.
type screen struct {
	width   int
	lines   []string
	row     int
	written bool // text stands in the current line
	tooWide []string
}

var token = regexp.MustCompile(`(?s)\x1b\[(\d*)([FKJ])|\n|[^\x1b\n]+|\x1b`)

// Write interprets.
func (s *screen) Write(p []byte) (int, error) {
	for _, m := range token.FindAllSubmatch(p, -1) {
		switch command := string(m[2]); {
		case command == "F":
			up, err := strconv.Atoi(string(m[1]))
			if err != nil || up > s.row {
				return 0, fmt.Errorf("cursor up %q from line %d", m[1], s.row)
			}
			s.row -= up
		case command == "K":
			if !s.written {
				s.text("")
			}
		case command == "J":
			s.lines = s.lines[:min(s.row, len(s.lines))]
		case string(m[0]) == "\n":
			s.row++
			s.written = false
		default:
			s.text(string(m[0]))
		}
	}
	return len(p), nil
}

// text stands in the current line, which it replaces: every line is written in one piece.
func (s *screen) text(text string) {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
	s.lines[s.row], s.written = text, true
	if ansi.StringWidth(text) > s.width {
		s.tooWide = append(s.tooWide, text)
	}
}

func (s *screen) String() string { return strings.Join(s.lines, "\n") + "\n" }
