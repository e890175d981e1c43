package replay

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

func mustExport(t *testing.T, dir, format, relay string) (out string, done []dataset.Exported) {
	t.Helper()
	f, err := dataset.ExportNamed(format)
	if err != nil {
		t.Fatal(err)
	}
	out = t.TempDir()
	if done, err = Export(context.Background(), ExportOptions{Dir: dir, Out: out, Format: f, Relay: relay}); err != nil {
		t.Fatal(err)
	}
	return out, done
}

// Our own formats keep everything: the data set that comes of an export is the same, to the byte.
func TestExportIsTheDataSet(t *testing.T) {
	dir := sampleSet(t)
	for _, format := range []string{"parquet", "csv"} {
		out, _ := mustExport(t, dir, format, "")
		again := t.TempDir()
		imported(t, options(again), filepath.Join(out, "bids."+format), filepath.Join(out, "deliveries."+format))
		if got, want := tables(tree(t, again)), tables(tree(t, dir)); !maps.Equal(got, want) {
			t.Errorf("%s: the data set has the files %q and not the content of %q", format, names(got), names(want))
		}
	}
}

// What is left after an export in the words of others stays: a second export loses nothing more.
func TestExportAgain(t *testing.T) {
	for _, format := range []string{"relayscan", "data-api", "xatu"} {
		dirs := []string{sampleSet(t)}
		for range 2 {
			last := dirs[len(dirs)-1]
			out, done := mustExport(t, last, format, "")
			next := t.TempDir()
			for _, one := range done {
				imported(t, options(next), filepath.Join(out, one.File))
			}
			dirs = append(dirs, next)
		}
		if once, twice := tables(tree(t, dirs[1])), tables(tree(t, dirs[2])); len(once) == 0 || !maps.Equal(once, twice) {
			t.Errorf("%s: the second export is of other rows than the first", format)
		}
	}
}

func TestExportOneRelay(t *testing.T) {
	out, done := mustExport(t, sampleSet(t), "data-api", "bloxroute")
	if len(done) != 2 || done[0].Rows != 6 || done[1].Rows != 1 {
		t.Errorf("%+v", done)
	}
	var rows []map[string]any
	err := json.Unmarshal([]byte(content(t, out, "builder_blocks_received.json")), &rows)
	if err != nil || len(rows) != 6 || rows[0]["relay"] != "bloxroute" {
		t.Errorf("%v: %v", err, rows)
	}
}

// An export that fails or is stopped leaves no file that looks whole.
func TestExportStopped(t *testing.T) {
	dir, out := sampleSet(t), t.TempDir()
	f, err := dataset.ExportNamed("csv")
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Export(stopped, ExportOptions{Dir: dir, Out: out, Format: f}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	damaged, err := filepath.Glob(filepath.Join(dir, "bids", "*", "*.parquet"))
	if err != nil || len(damaged) == 0 {
		t.Fatal(damaged, err)
	}
	if err := os.Truncate(damaged[0], 100); err != nil {
		t.Fatal(err)
	}
	_, err = Export(context.Background(), ExportOptions{Dir: dir, Out: out, Format: f})
	if err == nil || !strings.Contains(err.Error(), damaged[0]) {
		t.Error(err)
	}
	if left := tree(t, out); len(left) > 0 {
		t.Errorf("it left %q", names(left))
	}
}

// A table that the data set does not have gives no file, and a format without any of its tables
// nothing at all. A row that is of no table is a mistake of the reader.
func TestExportWithoutTable(t *testing.T) {
	dir := t.TempDir()
	imported(t, options(dir), filepath.Join("testdata", "demo", "delivered-7613244.json"))
	if _, done := mustExport(t, dir, "csv", ""); len(done) != 1 || done[0].File != "deliveries.csv" {
		t.Errorf("%+v", done)
	}
	f, err := dataset.ExportNamed("relayscan")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Export(context.Background(), ExportOptions{Dir: dir, Out: t.TempDir(), Format: f})
	if !errors.Is(err, errNothing) {
		t.Error(err)
	}
	b := batch{stopped: func() error { return nil }, limit: 1}
	if err := b.Row(1, dataset.Bid{}); err == nil {
		t.Error("a bid that is no pointer is taken")
	}
}
