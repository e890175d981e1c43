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

	"github.com/gavel-relay/gavel/internal/run"
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

var errNothing = errors.New("the data set has no rows of a table that the format has")

// Export writes the rows of a data set in a format, in the order of their hours. It holds some
// thousand rows in memory, however many there are. A file gets its name when it is whole. A table
// of which the data set has no file is not written.
func Export(ctx context.Context, o ExportOptions) (done []dataset.Exported, err error) {
	network, err := networkOf(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	for _, table := range o.Format.Tables {
		hours, err := filesOf(o.Dir, table.TableName())
		if err != nil {
			return nil, err
		}
		if len(hours) == 0 {
			continue
		}
		one, err := exportTable(ctx, o, table, network, hours)
		if err != nil {
			return nil, err
		}
		done = append(done, one)
	}
	if len(done) == 0 {
		return nil, run.Usage(fmt.Errorf("export %s to %s: %w", o.Dir, o.Format.Name, errNothing))
	}
	return done, nil
}

// exportTable writes a table's file.
func exportTable(ctx context.Context, o ExportOptions, table dataset.AnyOutgoing, network dataset.Network,
	hours []string) (done dataset.Exported, err error) {
	path := filepath.Join(o.Out, table.FileName())
	file, err := os.Create(path + newMark + "export")
	if err != nil {
		return done, fmt.Errorf("begin the export: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("export to %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	out, err := table.Begin(network, file)
	if err != nil {
		return done, errors.Join(err, file.Close())
	}
	for _, hour := range hours {
		if err := exportHour(ctx, hour, o.Relay, out); err != nil {
			return done, errors.Join(err, file.Close())
		}
	}
	if err := errors.Join(out.Close(), file.Sync(), file.Close()); err != nil {
		return done, err
	}
	return out.Counts(), os.Rename(file.Name(), path)
}

// exportHour writes the rows of one file of the data set.
func exportHour(ctx context.Context, hour, relay string, out dataset.Exporter) error {
	in, err := os.Open(hour)
	if err != nil {
		return fmt.Errorf("open a file of the data set: %w", err)
	}
	if err := out.Copy(in, relay, ctx.Err); err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", hour, err), in.Close())
	}
	return in.Close()
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
