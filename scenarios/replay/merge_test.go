package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

const demo = "testdata/demo/"

// demoSet imports what make replay-demo does, and the small samples beside it.
func demoSet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, one := range []struct {
		relay string
		files []string
	}{
		{"bloxroute", []string{demo + "bloxroute-7613244.json.gz", demo + "delivered-7613244.json"}},
		{"flashbots", []string{demo + "flashbots-7567001.json.gz", samples + "eden-7567002.ndjson"}},
	} {
		o := options(dir)
		o.Relay = one.relay
		imported(t, o, one.files...)
	}
	return dir
}

func demoOptions(t *testing.T, dir, out string) RunOptions {
	t.Helper()
	o := runOptions(t, dir, out)
	variants, err := scenarios.ParseWhatIf("what-if.yaml", []byte(content(t, demo+"what-if.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		o.Variants = append(o.Variants, backtest.NewVariant(v))
	}
	return o
}

// shardsOf replays a data set in n shards, each into a folder of its own.
func shardsOf(t *testing.T, dir string, n int64) (folders []string) {
	t.Helper()
	for i := range n {
		o := demoOptions(t, dir, filepath.Join(t.TempDir(), fmt.Sprintf("shard-%d", i+1)))
		o.Shard, o.Shards = i+1, n
		mustRun(t, o)
		folders = append(folders, o.Out)
	}
	return folders
}

// Merged, the results of shards are to the byte those of one run, however many shards there are.
func TestMerge(t *testing.T) {
	dir, whole := demoSet(t), t.TempDir()
	want := mustRun(t, demoOptions(t, dir, whole))
	for _, n := range []int64{1, 3, 7} {
		into := filepath.Join(t.TempDir(), "merged")
		shards := shardsOf(t, dir, n)
		shards = append(shards[n/2:], shards[:n/2]...) // the order in which they are named is nothing
		report, err := Merge(shards, into)
		if err != nil {
			t.Fatalf("%d shards: %v", n, err)
		}
		if report.Slots != want.Slots || report.Shard != "" {
			t.Errorf("%d shards: %d slots, shard %q", n, report.Slots, report.Shard)
		}
		for _, name := range []string{"results.parquet", "results.csv", "report.json"} {
			if content(t, into, name) != content(t, whole, name) {
				t.Errorf("%d shards: %s is another than that of one run", n, name)
			}
		}
		if found := names(tree(t, into)); len(found) != 3 {
			t.Errorf("%d shards: the folder has %q", n, found)
		}
	}
}

// An empty data set has results without rows, merged or not.
func TestMergeNothing(t *testing.T) {
	dir, whole, into := t.TempDir(), t.TempDir(), t.TempDir()
	imported(t, options(dir), write(t, "none.json", []byte("[]")))
	mustRun(t, demoOptions(t, dir, whole))
	if _, err := Merge(shardsOf(t, dir, 2), into); err != nil {
		t.Fatal(err)
	}
	for name, text := range tree(t, whole) {
		if text != content(t, into, name) || text == "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// What is not exactly the shards of one replay is refused by name, and no report is written that
// would say otherwise.
func TestMergeRefuses(t *testing.T) {
	dir := demoSet(t)
	shards := shardsOf(t, dir, 3)
	other := t.TempDir()
	imported(t, options(other), samples+"flashbots-7567001.json")
	part := t.TempDir()
	if err := errors.Join(os.CopyFS(part, os.DirFS(dir)),
		os.RemoveAll(filepath.Join(part, "bids", "day=2023-10-18"))); err != nil {
		t.Fatal(err)
	}
	copied := func(change func(to string) error) string {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(shards[2])); err != nil {
			t.Fatal(err)
		}
		if err := change(to); err != nil {
			t.Fatal(err)
		}
		return to
	}
	rename := func(from, into string) func(string) error {
		return func(to string) error {
			path := filepath.Join(to, reportName)
			return os.WriteFile(path, []byte(strings.Replace(content(t, path), from, into, 1)), 0o600)
		}
	}
	rows := func(from string) func(string) error {
		return func(to string) error {
			return os.WriteFile(filepath.Join(to, resultsName), []byte(content(t, from, resultsName)), 0o600)
		}
	}
	for _, c := range []struct {
		name string
		dirs []string
		want error
		text string
	}{
		{"one is missing", shards[:2], nil, "merge 2 of 3 shards: 3/3 is missing"},
		{"one is there twice", append(shards[:2:2], shards[1]), errShardTwice, shards[1]},
		{"of another data set", append(shards[:2:2], shardsOf(t, other, 3)[2]), errOtherReplay, ""},
		{"of a part of the hours", append(shards[:2:2], shardsOf(t, part, 3)[2]), errOtherReplay, ""},
		{"of another number of shards", append(shards[:2:2], shardsOf(t, dir, 4)[2]), errOtherReplay, ""},
		{"no results", append(shards[:2:2], t.TempDir()), errNoReport, ""},
		{"killed", append(shards[:2:2], copied(func(to string) error {
			return os.Remove(filepath.Join(to, reportName))
		})), errNoReport, ""},
		{"cut", append(shards[:2:2], copied(func(to string) error {
			return os.Truncate(filepath.Join(to, resultsName), 100)
		})), nil, resultsName},
		{"rows of another shard", append(shards[:2:2], copied(rows(shards[0]))), errNotItsSlot, "slot "},
		{"another report", append(shards[:2:2], copied(rename(`"served": `, `"served": 1`))), errNotItsSum, ""},
		{"no report", append(shards[:2:2], copied(rename("{", "["))), nil, "read the report"},
		{"no shard", append(shards[:2:2], copied(rename("3/3", "4/3"))), nil, `shard "4/3": write it as i/n`},
	} {
		into := t.TempDir()
		_, err := Merge(c.dirs, into)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Stat(filepath.Join(into, reportName)); err == nil {
			t.Errorf("%s: there is a report", c.name)
		}
	}
	if _, err := Merge(shards, shards[1]); err == nil || !strings.Contains(err.Error(), "give another --into") {
		t.Errorf("into a shard: %v", err)
	}
}

// A replay that fails leaves no report of an earlier one, which would vouch for the new rows.
func TestNoReportOfAnEarlierRun(t *testing.T) {
	dir, out := demoSet(t), t.TempDir()
	mustRun(t, demoOptions(t, dir, out))
	damaged, err := filepath.Glob(filepath.Join(dir, "bids", "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(damaged[0], 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), demoOptions(t, dir, out)); err == nil {
		t.Fatal("a damaged file was read")
	}
	if _, err := os.Stat(filepath.Join(out, reportName)); err == nil {
		t.Error("the report of the earlier run is there")
	}
}
