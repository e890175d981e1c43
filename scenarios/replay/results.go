package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// results writes the results of a replay into a folder: results.parquet, results.csv and
// report.json. Without a folder it keeps nothing.
type results struct {
	dir     string
	parquet *os.File
	rows    *dataset.Writer[backtest.Result]
	csv     *os.File
	header  bool
}

// The files of a folder of results that are read again.
const (
	reportName  = "report.json"
	resultsName = "results.parquet"
)

func newResults(dir string, network dataset.Network) (*results, error) {
	if dir == "" {
		return &results{}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the results: %w", err)
	}
	r := &results{dir: dir}
	// The report says that the rows are whole, so that of an earlier run goes first.
	err := os.Remove(filepath.Join(dir, reportName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the report of an earlier run: %w", err)
	}
	if r.parquet, err = os.Create(filepath.Join(dir, resultsName)); err != nil {
		return nil, fmt.Errorf("begin the results: %w", err)
	}
	if r.csv, err = os.Create(filepath.Join(dir, "results.csv")); err != nil {
		return nil, errors.Join(fmt.Errorf("begin the results: %w", err), r.parquet.Close())
	}
	if r.rows, err = dataset.NewWriter(backtest.Results, network, r.parquet); err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	return r, nil
}

// add appends results.
func (r *results) add(all []backtest.Result) error {
	if r.dir == "" {
		return nil
	}
	for i := range all {
		if err := r.rows.Write(&all[i]); err != nil {
			return err
		}
	}
	if err := dataset.WriteCSV(backtest.Results, all, !r.header, r.csv); err != nil {
		return err
	}
	r.header = true
	return nil
}

// abandon closes the files of a replay that failed.
func (r *results) abandon() error {
	if r.dir == "" {
		return nil
	}
	return errors.Join(r.parquet.Close(), r.csv.Close())
}

func (r *results) finish(report *Report) error {
	if r.dir == "" {
		return nil
	}
	if !r.header { // a data set without a row gives a table without one
		if err := r.add(nil); err != nil {
			return errors.Join(err, r.abandon())
		}
	}
	if err := errors.Join(r.rows.Close(), r.abandon()); err != nil {
		return fmt.Errorf("end the results: %w", err)
	}
	return writeWhole(filepath.Join(r.dir, reportName), func(out io.Writer) error {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return fmt.Errorf("encode report.json: %w", err)
		}
		return nil
	})
}

// WriteText writes the report for a person.
func (r *Report) WriteText(out io.Writer) error {
	var sums backtest.Summaries
	sums.All = r.Summaries
	var text strings.Builder
	part := ""
	if r.Shard != "" {
		part = ", shard " + r.Shard
	}
	fmt.Fprintf(&text, "%d slots of %s%s\n\nInferred (%s):\n", r.Slots, r.Network.Name, part,
		strings.Join(backtest.Inferred(r.Inferred), ", "))
	for _, rule := range r.Rules {
		fmt.Fprintf(&text, "  %s\n", rule)
	}
	if len(r.Summaries) > 1 {
		text.WriteString("\nBids are those of the archive in all variants: builders do not answer other rules with " +
			"other bids.\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Models)) {
		for _, model := range r.Models[name] {
			fmt.Fprintf(&text, "A model, not a replay: %s: %s\n", name, model)
		}
	}
	text.WriteString("\n")
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return sums.WriteText(out)
}
