package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/figures"
)

// FigureOptions say what to draw.
type FigureOptions struct {
	RunOptions
	// Slot is the slot whose bid curve is shown; 0: the one with the most bids.
	Slot int64
	// To is the folder for the page, and the picture and the table of each figure.
	To string
}

// Figures replays the auctions of a data set and draws them: index.html, and for each figure an
// SVG and a CSV. The same data set gives the same bytes.
func Figures(ctx context.Context, o FigureOptions) (all []figures.Figure, err error) {
	o.part = func() *figures.Part { return figures.NewPart(o.Slot) }
	report, whole, err := replayed(ctx, o.RunOptions)
	if err != nil {
		return nil, err
	}
	all = whole.Figures(report.Models)
	if o.Slot != 0 && all[0].Missing != "" {
		return nil, run.Usage(fmt.Errorf("draw the bid curve of slot %d: the data set has no bids of that slot", o.Slot))
	}
	if err := os.MkdirAll(o.To, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the figures: %w", err)
	}
	for i := range all {
		if err := writeFigure(o.To, &all[i]); err != nil {
			return nil, err
		}
	}
	about := figures.About{Network: report.Network.Name, Slots: report.Slots, Rules: report.Rules}
	for _, name := range slices.Sorted(maps.Keys(report.Models)) {
		for _, model := range report.Models[name] {
			about.Models = append(about.Models, name+": "+model)
		}
	}
	return all, writeWhole(filepath.Join(o.To, "index.html"), func(out io.Writer) error {
		return figures.WritePage(out, about, all)
	})
}

// writeFigure writes the pictures and the table of a figure. One that has nothing to draw has
// none, and those of an earlier run are removed.
func writeFigure(dir string, f *figures.Figure) error {
	for ending, make := range map[string]func() ([]byte, error){".svg": f.SVG, ".png": f.PNG, ".csv": f.CSV} {
		path := filepath.Join(dir, f.ID+ending)
		if f.Missing != "" {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove a figure of an earlier run: %w", err)
			}
			continue
		}
		content, err := make()
		if err != nil {
			return err
		}
		if err := writeWhole(path, func(out io.Writer) error {
			_, err := out.Write(content)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file that has its name only when it is whole.
func writeWhole(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	if err := os.WriteFile(path+newMark+"whole", content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(path+newMark+"whole", path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// WriteFigures lists what was drawn, and why the others were not.
func WriteFigures(out io.Writer, dir string, all []figures.Figure) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n", filepath.Join(dir, "index.html"))
	for i := range all {
		switch f := &all[i]; f.Missing {
		case "":
			fmt.Fprintf(&text, "  %s.svg, .png, .csv: %d rows\n", f.ID, len(f.Rows))
		default:
			fmt.Fprintf(&text, "  %s: not drawn: %s\n", f.ID, f.Missing)
		}
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("list the figures: %w", err)
	}
	return nil
}
