package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Options say how to import.
type Options struct {
	// Into is the folder of the data set.
	Into    string
	Network dataset.Network
	// Relay is the relay that the archives are of if they do not say.
	Relay string
	// BatchRows is how many rows are held in memory at most.
	BatchRows int
	// FromRelay says what relays are asked for whose addresses are among the files.
	FromRelay FromRelay
	// Progress gets a line for each batch.
	Progress io.Writer

	step func()
}

// DefaultBatchRows keeps an import below 512 MiB.
const DefaultBatchRows = 100_000

// Result is what came of one input.
type Result struct {
	*Input
	// Before: the input was imported already, and nothing was done.
	Before bool
}

// ErrIncomplete says that some inputs could not be imported, or not to their end.
var ErrIncomplete = errors.New("not everything was imported")

// Import adds the rows of files to a data set. It goes on with the next file if one fails, and then
// returns ErrIncomplete.
func Import(ctx context.Context, files []string, o Options) (results []Result, err error) {
	if o.step == nil {
		o.step = func() {}
	}
	catalogue, err := openCatalogue(o.Into, o.Network, o.step)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, catalogue.close()) }()
	i := importing{ctx: ctx, options: o, catalogue: catalogue}
	for _, file := range files {
		if err := i.file(file); err != nil {
			return i.results, err
		}
	}
	failed := 0
	for _, r := range i.results {
		if r.Failure != "" {
			failed++
		}
	}
	if failed > 0 {
		return i.results, fmt.Errorf("%w: %d of %d inputs failed", ErrIncomplete, failed, len(i.results))
	}
	return i.results, nil
}

type importing struct {
	ctx       context.Context
	options   Options
	catalogue *catalogue
	results   []Result
}

// file imports a file. What is wrong with the file is a result; an error is of the data set.
func (i *importing) file(path string) error {
	if IsRelay(path) {
		return i.relay(path)
	}
	path, instances, err := runFacts(path)
	var file *os.File
	var sources []source
	if err == nil {
		file, sources, err = openSources(path)
	}
	if err != nil {
		i.results = append(i.results, Result{Input: &Input{Name: path, Failure: err.Error()}})
		return nil
	}
	for _, source := range sources {
		source.instances = instances
		if err := i.source(source); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", path, err)
	}
	return nil
}

// source imports one stream of rows.
func (i *importing) source(s source) error {
	for _, in := range i.catalogue.Inputs {
		if in.ID == s.id && in.Done {
			i.results = append(i.results, Result{Input: in, Before: true})
			return nil
		}
	}
	format, read, closer, err := s.recognise()
	if closer != nil {
		defer closer.Close() // it was only read
	}
	if err != nil {
		i.results = append(i.results, Result{Input: &Input{Name: s.name, Failure: err.Error()}})
		return nil
	}
	in := i.catalogue.input(s.id, s.name)
	was := *in
	in.Format, in.Failure, in.Relay = format.Name, "", i.options.Relay
	b := &batch{
		catalogue: i.catalogue, input: in, place: format.Place, limit: i.options.BatchRows, from: in.At, told: i.printRows,
		stopped: i.ctx.Err,
	}
	sink := sinkErrors{Sink: b}
	delivered, err := deliveredOf(i.catalogue)
	if err != nil {
		return err
	}
	err = read(dataset.Origin{
		Network: i.options.Network, Relay: i.options.Relay, Instances: s.instances, Delivered: delivered,
	}, &sink)
	if failed := errors.Join(sink.err, b.settle()); failed != nil {
		return failed
	}
	in.Done = err == nil
	if err != nil {
		in.Failure = err.Error()
	}
	i.results = append(i.results, Result{Input: in})
	if *in == was && b.rows == 0 { // it fails where it failed before
		return nil
	}
	return b.commit()
}

func (i *importing) printRows(in *Input) {
	fmt.Fprintf(i.options.Progress, "%s: %d rows, %d new, %d bad\n", in.Name, in.Rows, in.Added, in.Bad)
}

// sinkErrors remembers an error of the sink, to tell it from one of the archive.
type sinkErrors struct {
	dataset.Sink
	err error
}

func (s *sinkErrors) Row(at int64, row any) error {
	return s.keep(s.Sink.Row(at, row))
}

func (s *sinkErrors) Bad(at int64, text string, why error) error {
	return s.keep(s.Sink.Bad(at, text, why))
}

func (s *sinkErrors) keep(err error) error {
	if err != nil {
		s.err = err
	}
	return err
}

// WriteTable writes what came of the inputs, one line each.
func WriteTable(out io.Writer, results []Result) error {
	lines := [][]string{{"input", "format", "rows", "new", "known", "bad", ""}}
	for _, r := range results {
		state := "imported"
		switch {
		case r.Failure != "":
			state = "FAILED: " + r.Failure
		case r.Before:
			state = "was imported before"
		}
		if r.Note != "" {
			state += "; " + r.Note
		}
		lines = append(lines, []string{
			r.Name, r.Format, fmt.Sprint(r.Rows), fmt.Sprint(r.Added), fmt.Sprint(r.Known), fmt.Sprint(r.Bad), state,
		})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line[:len(line)-1] {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			switch {
			case i < 2:
				fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
			case i < len(line)-1:
				fmt.Fprintf(&text, "%*s  ", widths[i], cell)
			default:
				text.WriteString(cell)
			}
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(text.String(), " ")); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	return nil
}
