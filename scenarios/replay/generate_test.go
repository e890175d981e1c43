package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

func generateInto(t *testing.T, into string, seed uint64, slots int) {
	t.Helper()
	tally, err := Generate(t.Context(), GenerateOptions{Into: into, Seed: seed, Slots: slots, Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if n := tally.Rows("slots"); n != slots {
		t.Errorf("%d rows of slots for %d slots", n, slots)
	}
}

func wantSameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("files %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

// The same seed gives the same bytes of every file, however many processors there are; another seed
// gives other rows in every table.
func TestGenerateSameBytes(t *testing.T) {
	const slots = 5
	of := func(seed uint64, processors int) map[string]string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		into := filepath.Join(t.TempDir(), "set")
		generateInto(t, into, seed, slots)
		return tree(t, into)
	}
	first := of(7, 1)
	wantSameFiles(t, of(7, 2), first)
	other := of(8, 2)
	tables := 0
	for name, text := range first {
		if other[name] == text {
			t.Errorf("%s is the same for another seed", name)
		}
		if strings.HasSuffix(name, ".parquet") {
			tables++
		}
	}
	if tables != len(dataset.Tables) {
		t.Errorf("%d files of tables, want one of each of %d tables", tables, len(dataset.Tables))
	}
	for line := range strings.Lines(first[sumsName]) {
		if _, named := first[strings.TrimSpace(line[64:])]; !named {
			t.Errorf("%s names a file that is not there: %s", sumsName, line)
		}
	}
	if n := strings.Count(first[sumsName], "\n"); n != len(first)-1 {
		t.Errorf("%s has %d lines for %d files", sumsName, n, len(first)-1)
	}
}

// A replay finds of each delivered payload that it led, and of each header that was served.
func checkReplay(t *testing.T, into string, network dataset.Network) {
	out := t.TempDir()
	report := mustRun(t, runOptions(t, into, out))
	sum := report.Summaries[0]
	if sum.Delivered == 0 || sum.Reasons[backtest.Same] != sum.Delivered {
		t.Errorf("%d of %d delivered payloads are the same", sum.Reasons[backtest.Same], sum.Delivered)
	}
	for reason, n := range sum.Reasons {
		if reason != backtest.Same && reason != backtest.NoneDelivered && reason != backtest.Elsewhere {
			t.Errorf("%d auctions are %s", n, reason)
		}
	}
	headers := 0
	for _, r := range readRows(t, backtest.Results, network, filepath.Join(out, "results.parquet")) {
		headers += int(r.Headers.V)
		if r.Headers != r.HeadersLed {
			t.Errorf("slot %d at %s: %d of %d headers led", r.Slot.V, r.Relay, r.HeadersLed.V, r.Headers.V)
		}
	}
	if headers == 0 {
		t.Error("no headers")
	}
}

// The export in our own format can be imported, which checks each row, and gives the same files.
func checkImport(t *testing.T, set string, network dataset.Network) {
	format, err := dataset.ExportNamed("parquet")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	done, err := Export(t.Context(), ExportOptions{Dir: set, Out: out, Format: format})
	if err != nil || len(done) != len(dataset.Tables) {
		t.Fatalf("%d tables are exported, %v", len(done), err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	results, err := Import(t.Context(), files, Options{
		Into: again, Network: network, BatchRows: DefaultBatchRows, Progress: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Bad > 0 || r.Failure != "" || r.Added == 0 {
			t.Errorf("%s: %d of %d rows are bad, %s", r.Name, r.Bad, r.Rows, r.Failure)
		}
	}
	was, is := tree(t, set), tree(t, again)
	for name, text := range was {
		if strings.HasSuffix(name, ".parquet") && is[name] != text {
			t.Errorf("%s is another one after export and import", name)
		}
	}
}

func readRows[R any](t *testing.T, table *dataset.Table[R], network dataset.Network, paths ...string) (all []*R) {
	t.Helper()
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := dataset.NewReader(table, network, file)
		if err != nil {
			t.Fatal(err)
		}
		for {
			row, err := rows.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Killed at a change of the disk, a generator leaves no folder with the data set's name, and the
// next one makes the same bytes, and nothing beside them.
func TestGenerateKilled(t *testing.T) {
	o := GenerateOptions{Into: os.Getenv("GAVEL_TEST_INTO"), Seed: 9, Slots: 2, Progress: io.Discard}
	if at := os.Getenv(killAt); at != "" {
		o.step = killingStep(t, at)
		_, err := Generate(t.Context(), o)
		t.Fatalf("not killed: %v", err)
	}
	o.Into = filepath.Join(t.TempDir(), "set")
	var steps atomic.Int64
	o.step = func() { steps.Add(1) }
	if _, err := Generate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := tree(t, o.Into)
	into := filepath.Join(t.TempDir(), "set")
	for _, at := range []int64{1, steps.Load() / 2, steps.Load()} {
		killedIn(t, "TestGenerateKilled", int(at), into)
		if _, err := os.Stat(into); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("killed at change %d of %d, there is a data set: %v", at, steps.Load(), err)
		}
	}
	generateInto(t, into, o.Seed, o.Slots)
	wantSameFiles(t, tree(t, into), want)
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(into), "*")); err != nil || len(left) != 1 {
		t.Errorf("beside the data set there are %v, %v", left, err)
	}
}

// Each row is something in the way or a wrong number, and what the error says.
func TestGenerateRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		put   string // a file, below the folder that has the data set's
		slots int
		says  string
	}{
		{"no slots", "", 0, "from 1 to"},
		{"too many slots", "", MaxSlots + 1, "from 1 to"},
		{"another data set", "set/dataset.json", 1, "has something in it"},
		{"a file of that name", "set", 1, "not a directory"},
		{"something else in the place of the unfinished one", "set.new-generate/mine", 1, "in the way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.put != "" {
				path := filepath.Join(dir, c.put)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Generate(t.Context(), GenerateOptions{
				Into: filepath.Join(dir, "set"), Slots: c.slots, Progress: io.Discard,
			})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want something about %q", err, c.says)
			}
			if c.put != "" && fmt.Sprint(tree(t, dir)) != fmt.Sprint(map[string]string{c.put: "mine"}) {
				t.Errorf("the folder has %v", slices.Collect(maps.Keys(tree(t, dir))))
			}
		})
	}
}
