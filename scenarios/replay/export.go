package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// ExportOptions say what to write where.
type ExportOptions struct {
	// Dir is the folder of the data set, Out that for the files.
	Dir, Out string
	Format   *dataset.ExportFormat
	// Relay is the only relay whose rows are written; empty: all.
	Relay string
}

// Export writes the rows of a data set in a format, in the order of their slots. It holds some
// thousand rows in memory, however many there are. A file gets its name when it is whole.
func Export(ctx context.Context, o ExportOptions) (done []dataset.Exported, err error) {
	network, err := networkOf(o.Dir)
	if err != nil {
		return nil, err
	}
	hours, err := hoursOf(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	e := exporting{ctx: ctx, options: o, network: network}
	if o.Format.Bids.File != "" {
		one, err := exportTable(&e, hours, dataset.Bids, o.Format.Bids, func(h hour) string { return h.bids },
			func(b *dataset.Bid) dataset.Text { return b.Relay })
		if err != nil {
			return nil, err
		}
		done = append(done, one)
	}
	if o.Format.Deliveries.File != "" {
		one, err := exportTable(&e, hours, dataset.Deliveries, o.Format.Deliveries,
			func(h hour) string { return h.deliveries }, func(d *dataset.Delivery) dataset.Text { return d.Relay })
		if err != nil {
			return nil, err
		}
		done = append(done, one)
	}
	return done, nil
}

type exporting struct {
	ctx     context.Context
	options ExportOptions
	network dataset.Network
}

// exportTable writes a table's file.
func exportTable[R any](e *exporting, hours []hour, table *dataset.Table[R], how dataset.Outgoing[R],
	name func(hour) string, relay func(*R) dataset.Text) (done dataset.Exported, err error) {
	path := filepath.Join(e.options.Out, how.File)
	file, err := os.Create(path + newMark + "export")
	if err != nil {
		return done, fmt.Errorf("begin the export: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("export to %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	out, err := dataset.NewExportWriter(table, how, e.network, file)
	if err != nil {
		return done, errors.Join(err, file.Close())
	}
	for _, h := range hours {
		err := exportHour(e, table, name(h), func(row *R) error {
			if e.options.Relay != "" && relay(row) != dataset.Text(e.options.Relay) {
				return nil
			}
			return out.Write(row)
		})
		if err != nil {
			return done, errors.Join(err, file.Close())
		}
	}
	if err := errors.Join(out.Close(), file.Sync(), file.Close()); err != nil {
		return done, err
	}
	return out.Exported, os.Rename(file.Name(), path)
}

// exportHour reads the rows of one file of the data set.
func exportHour[R any](e *exporting, table *dataset.Table[R], name string, put func(*R) error) (err error) {
	in, err := openRows(table, e.network, name, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := e.ctx.Err(); err != nil {
				return err
			}
		}
		row, err := in.peek()
		if err != nil || row == nil {
			return err
		}
		in.next = nil
		if err := put(row); err != nil {
			return err
		}
	}
}

// WriteExported says what was written, and what the format could not say.
func WriteExported(out io.Writer, done []dataset.Exported) error {
	var text strings.Builder
	for _, one := range done {
		fmt.Fprintf(&text, "%s: %d rows\n", one.File, one.Rows)
		for _, why := range slices.Sorted(maps.Keys(one.LeftOut)) {
			fmt.Fprintf(&text, "  left out %d rows: %s\n", one.LeftOut[why], why)
		}
		for _, column := range slices.Sorted(maps.Keys(one.Lost)) {
			fmt.Fprintf(&text, "  lost in %d rows: %s\n", one.Lost[column], column)
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("write what was exported: %w", err)
	}
	return nil
}
