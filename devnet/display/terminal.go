package display

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Options choose the style.
type Options struct {
	// Live repaints in place; otherwise plain lines are printed.
	Live bool
	// Color allows colors.
	Color bool
	// Size returns the terminal's size in columns and lines. nil, or 0 for one of them, means no
	// limit. It is called at each repaint.
	Size func() (width, height int)
}

// New returns an output that writes to out.
func New(out io.Writer, o Options) Output {
	size := o.Size
	if size == nil {
		size = func() (int, int) { return 0, 0 }
	}
	if o.Live {
		return &live{out: out, size: size, paint: newPaint(out, o.Color)}
	}
	width, _ := size()
	return &plain{out: out, layout: layoutFor(width), paint: newPaint(out, o.Color)}
}

// OptionsFor returns the options for a file: live and colored on a terminal, plain lines elsewhere.
// It respects the wish for plain lines, a dumb terminal, and NO_COLOR (https://no-color.org: set to
// anything but an empty text).
func OptionsFor(file *os.File, wantPlain bool, getenv func(string) string) Options {
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return Options{}
	}
	dumb := getenv("TERM") == "dumb" || getenv("TERM") == ""
	return Options{
		Live:  !wantPlain && !dumb,
		Color: !dumb && getenv("NO_COLOR") == "",
		Size: func() (int, int) {
			width, height, err := term.GetSize(fd)
			if err != nil {
				return 0, 0 // if the terminal does not tell its size, lines have no limit
			}
			return width, height
		},
	}
}
