package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
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
	if err := addTables(ctx, o.RunOptions, report.Network, whole); err != nil {
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

// addTables adds the tables that a replay does not read, row by row, of the wanted relay if they
// are of relays.
func addTables(ctx context.Context, o RunOptions, network dataset.Network, to *figures.Part) error {
	err := eachRow(ctx, o.Dir, dataset.Stages, network, func(s *dataset.Stage) {
		if o.wants(s.Relay) {
			to.AddStage(s)
		}
	})
	if err != nil {
		return err
	}
	if err := eachRow(ctx, o.Dir, dataset.Orders, network, to.AddOrder); err != nil {
		return err
	}
	files, err := filesOf(o.Dir, dataset.Slots.Name)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := addSlots(ctx, o, network, file, to); err != nil {
			return err
		}
	}
	return nil
}

// eachRow reads a table.
func eachRow[R any](ctx context.Context, dir string, table *dataset.Table[R], network dataset.Network,
	do func(*R)) error {
	files, err := filesOf(dir, table.Name)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := eachRowOf(ctx, table, network, file, do); err != nil {
			return err
		}
	}
	return nil
}

// rowsBetween is how many rows are read between two looks at whether to stop.
const rowsBetween = 4096

func eachRowOf[R any](ctx context.Context, table *dataset.Table[R], network dataset.Network, file string,
	do func(*R)) (err error) {
	in, err := openRows(table, network, file, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	for n := 0; ; n++ {
		if n%rowsBetween == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row, err := in.pop()
		if err != nil || row == nil {
			return err
		}
		do(row)
	}
}

// addSlots adds the slots of an hour, each with what was asked in it. A slot that several sources
// tell of counts once.
func addSlots(ctx context.Context, o RunOptions, network dataset.Network, file string, to *figures.Part) (err error) {
	at, err := filepath.Rel(filepath.Join(o.Dir, dataset.Slots.Name), file)
	if err != nil {
		return fmt.Errorf("find the requests of an hour: %w", err)
	}
	name := filepath.Join(o.Dir, dataset.Requests.Name, at)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		name = ""
	}
	requests, err := openRows(dataset.Requests, network, name, []string{"slot", "kind", "relay", "sent_at", "received_at"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, requests.close()) }()
	last, now := int64(-1), 0
	var failed error
	err = eachRowOf(ctx, dataset.Slots, network, file, func(s *dataset.Slot) {
		if s.Slot.V == last || failed != nil {
			return
		}
		last = s.Slot.V
		var asked figures.Asked
		asked, failed = askedIn(ctx, requests, last, o, &now)
		to.AddSlot(s, asked)
	})
	return errors.Join(err, failed)
}

// askedIn looks at the requests up to a slot, and returns those of the slot.
func askedIn(ctx context.Context, requests *rows[dataset.Request], slot int64, o RunOptions,
	read *int) (asked figures.Asked, err error) {
	for {
		r, err := requests.peek()
		if err != nil || r == nil || r.Slot.V > slot {
			return asked, err
		}
		if *read++; *read%rowsBetween == 0 && ctx.Err() != nil {
			return asked, ctx.Err()
		}
		requests.next = nil
		if r.Slot.V == slot && o.wants(r.Relay) {
			asked.Add(r)
		}
	}
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
