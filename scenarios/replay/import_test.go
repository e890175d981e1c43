package replay

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

const samples = "../dataset/testdata/"

func options(into string) Options {
	return Options{Into: into, Network: dataset.Networks[0], BatchRows: DefaultBatchRows, Progress: io.Discard}
}

func imported(t *testing.T, o Options, files ...string) []Result {
	t.Helper()
	results, err := Import(context.Background(), files, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// tree is the content of every file below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == ".lock" {
			return err
		}
		raw, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func tables(files map[string]string) map[string]string {
	kept := maps.Clone(files)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasSuffix(name, ".parquet") })
	return kept
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(samples + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, entries map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write(entries[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var all = []string{
	samples + "flashbots-7567001.json", samples + "bloxroute-7613244.json", samples + "eden-7567002.ndjson",
	samples + "relayscan_all.csv",
}

// Archives become one file for each hour, and importing them again changes no byte.
func TestImportTwice(t *testing.T) {
	dir := t.TempDir()
	results := imported(t, options(dir), all...)
	added := int64(0)
	for _, r := range results {
		added += r.Added
	}
	first := tree(t, dir)
	want := []string{"bids/day=2023-10-18/11.parquet", "bids/day=2023-10-24/21.parquet", "dataset.json"}
	if added != 12+6+5+6 || !slices.Equal(names(first), want) {
		t.Fatalf("%d rows in %q", added, names(first))
	}
	for _, r := range imported(t, options(dir), all...) {
		if !r.Before {
			t.Errorf("%s was imported again", r.Name)
		}
	}
	if !maps.Equal(first, tree(t, dir)) {
		t.Error("importing twice changed the data set")
	}
}

// The same rows in another file, compressed or not, in another order of files and in other batches:
// the tables are the same, and the rows are counted as known.
func TestSameRowsSameTables(t *testing.T) {
	dir := t.TempDir()
	imported(t, options(dir), all...)
	want := tables(tree(t, dir))
	for _, r := range imported(t, options(dir), write(t, "x.gz", gzipped(t, sample(t, "flashbots-7567001.json"))),
		write(t, "x.zip", zipped(t, map[string][]byte{
			"a/relayscan_all.csv": sample(t, "relayscan_all.csv"), "b.gz": gzipped(t, sample(t, "relayscan_all.csv")),
		})), write(t, "bom.csv", append([]byte("\xef\xbb\xbf"), sample(t, "relayscan_all.csv")...))) {
		if r.Added != 0 || r.Known != r.Rows || r.Rows == 0 {
			t.Errorf("%s: %+v", r.Name, r.Input)
		}
	}
	if !maps.Equal(want, tables(tree(t, dir))) {
		t.Error("rows that were known changed the tables")
	}
	other := options(t.TempDir())
	other.BatchRows = 1
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	imported(t, other, backwards...)
	if !maps.Equal(want, tables(tree(t, other.Into))) {
		t.Error("another order of files and batches of one row gave other tables")
	}
}

// Bad rows are in a side file, with file, line, reason and their own text.
func TestBadRows(t *testing.T) {
	dir := t.TempDir()
	file := write(t, "day.csv", append(sample(t, "relayscan_all.csv"), "1,2,3\n"...))
	r := imported(t, options(dir), file)[0]
	if r.Rows != 7 || r.Added != 6 || r.Bad != 1 {
		t.Errorf("%+v", r.Input)
	}
	want := `{"file":"` + file + `","place":"line","at":8,"reason":"3 fields in place of 15","text":"1,2,3"}` + "\n"
	if got := tree(t, dir)["rejected/"+r.ID+"-8.ndjson"]; got != want {
		t.Errorf("%q", got)
	}
}

// What cannot be imported is named; the other files are imported.
func TestFailures(t *testing.T) {
	flashbots := sample(t, "flashbots-7567001.json")
	whole, packed := zipped(t, map[string][]byte{"x.json": flashbots}), gzipped(t, flashbots)
	for name, c := range map[string]struct {
		content []byte
		want    string
		rows    int64
	}{
		"cut.gz":   {packed[:len(packed)-20], "unexpected EOF", 1},
		"cut.zip":  {whole[:len(whole)-10], "open the zip archive: zip: not a valid zip file", 0},
		"bad.zip":  {bytes.Replace(whole, []byte("PK\x01\x02"), []byte("PK\x01\x09"), 1), "open the zip archive", 0},
		"cut.json": {flashbots[:len(flashbots)-5], "after row 11: unexpected EOF", 11},
		"else":     {[]byte("hello"), `not recognised: it begins with "hello"`, 0},
	} {
		dir := t.TempDir()
		results, err := Import(context.Background(), []string{write(t, name, c.content), "missing", all[1]}, options(dir))
		if !errors.Is(err, ErrIncomplete) || len(results) != 3 {
			t.Fatalf("%s: %v, %d results", name, err, len(results))
		}
		if !strings.Contains(results[0].Failure, c.want) || results[0].Added < c.rows {
			t.Errorf("%s: %+v", name, results[0].Input)
		}
		if !strings.Contains(results[1].Failure, "no such file") || results[2].Added != 6 {
			t.Errorf("%s: %+v and %+v", name, results[1].Input, results[2].Input)
		}
		before := tree(t, dir)
		again, err := Import(context.Background(), []string{filepath.Join(filepath.Dir(results[0].Name), name)}, options(dir))
		if !errors.Is(err, ErrIncomplete) || again[0].Failure != results[0].Failure || !maps.Equal(before, tree(t, dir)) {
			t.Errorf("%s again: %v, %+v", name, err, again[0].Input)
		}
		var table strings.Builder
		if err := WriteTable(&table, results); err != nil ||
			!strings.Contains(table.String(), "FAILED: "+results[0].Failure) {
			t.Errorf("%v\n%s", err, table.String())
		}
	}
}

// A data set is of one network, and only one import works on it.
func TestOneNetworkOneImport(t *testing.T) {
	dir := t.TempDir()
	imported(t, options(dir), all[0])
	sepolia := options(dir)
	sepolia.Network = dataset.Networks[1]
	if _, err := Import(context.Background(), all[:1], sepolia); !errors.Is(err, errOtherNetwork) {
		t.Errorf("another network: %v", err)
	}
	c, err := openCatalogue(dir, dataset.Networks[0], func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := Import(context.Background(), all[:1], options(dir)); err == nil ||
		!strings.Contains(err.Error(), "another import is at work there") {
		t.Errorf("two imports: %v", err)
	}
}

// An import that is cancelled keeps what was committed, and goes on there.
func TestCancelled(t *testing.T) {
	want := t.TempDir()
	o := options(want)
	o.BatchRows = 2
	imported(t, o, all...)
	o.Into = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	commits := 0
	o.Progress = writerFunc(func(p []byte) (int, error) {
		if commits++; commits == 3 {
			cancel()
		}
		return len(p), nil
	})
	if _, err := Import(ctx, all, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Progress = io.Discard
	imported(t, o, all...)
	if !maps.Equal(tree(t, want), tree(t, o.Into)) {
		t.Error("the data set is another than without the break")
	}
}

// A row that is a bid and a delivery is committed whole, wherever an import is stopped.
func TestCancelledBetweenTwoRows(t *testing.T) {
	file := samples + "mevboost-18376893.parquet"
	want := t.TempDir()
	o := options(want)
	o.BatchRows = 1
	imported(t, o, file)
	for stop := 1; stop < 8; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		commits := 0
		o.Into, o.Progress = t.TempDir(), writerFunc(func(p []byte) (int, error) {
			if commits++; commits == stop {
				cancel()
			}
			return len(p), nil
		})
		if _, err := Import(ctx, []string{file}, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		o.Progress = io.Discard
		imported(t, o, file)
		if !maps.Equal(tree(t, want), tree(t, o.Into)) {
			t.Errorf("stopped at commit %d, the data set is another than without the break", stop)
		}
	}
}

// The values of xatu's bids are compared with what the data set knows as delivered, and the table
// tells the outcome.
func TestValuesAreComparedWithDelivered(t *testing.T) {
	from, out := options(t.TempDir()), t.TempDir()
	imported(t, from, samples+"mevboost-18376893.parquet")
	format, err := dataset.ExportNamed("xatu")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Export(context.Background(), ExportOptions{Dir: from.Into, Out: out, Format: format}); err != nil {
		t.Fatal(err)
	}
	bids := filepath.Join(out, "mev_relay_bid_trace.parquet")
	results := append(imported(t, from, bids), imported(t, options(t.TempDir()), bids)...)
	var text strings.Builder
	if err := WriteTable(&text, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"imported; value has the least byte first: 19 of 19 delivered blocks have the delivered value\n",
		"the data set has none of the blocks as delivered, to compare with\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// Registrations have files of their own, and a replay goes past them.
func TestImportRegistrations(t *testing.T) {
	csv := "slot,slot_start,signed_at,observed_at,source,relay,validator_index,gas_limit,fee_recipient\n" +
		"7567001,,2020-12-01T12:01:40Z,2023-10-18T11:20:40.123Z,xatu,ultrasound,7,36000000,0x" +
		strings.Repeat("ab", 20) + "\n"
	o := options(t.TempDir())
	results := imported(t, o, all[0], write(t, "registrations.csv", []byte(csv+strings.Replace(csv, ",7,", ",,", 1))))
	if r := results[1]; r.Added != 1 || r.Bad != 2 { // the second header, and one of nobody
		t.Errorf("%+v", r.Input)
	}
	const place = "registrations/day=2023-10-18/11.parquet"
	if _, there := tree(t, o.Into)[place]; !there {
		t.Fatalf("no %s in %q", place, names(tree(t, o.Into)))
	}
	again := options(t.TempDir())
	imported(t, again, filepath.Join(o.Into, place))
	if tree(t, o.Into)[place] != tree(t, again.Into)[place] {
		t.Error("imported from a data set, the table is another")
	}
	if report := mustRun(t, runOptions(t, o.Into, "")); report.Slots != 1 {
		t.Errorf("%d slots", report.Slots)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
