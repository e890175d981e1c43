package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// delivered is a row of proposer_payload_delivered for a bid of the samples, which leads for 42 ms.
const delivered = `[{"slot":"7613244","block_hash":"0x3b1e11b14e5603e5519c0b0d1193b44d220a4becad23cb2c32d9875f6de33291",` +
	`"builder_pubkey":"0xb9f88bc584a53fabb5b295e50638b20218c8b2303f3d26daef84ddb9609f1f93a95608806c94e564ebcd6e3976d3838d",` +
	`"value":"60217847533391503","num_tx":"100"}]`

// sampleSet imports auctions of three hours.
func sampleSet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "delivered.json")
	if err := os.WriteFile(file, []byte(delivered), 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(dir)
	for relay, files := range map[string][]string{
		"flashbots": {samples + "flashbots-7567001.json", samples + "eden-7567002.ndjson", samples + "relayscan_all.csv"},
		"bloxroute": {samples + "bloxroute-7613244.json", file},
	} {
		o.Relay = relay
		imported(t, o, files...)
	}
	return dir
}

func runOptions(t *testing.T, dir, out string, infer ...string) RunOptions {
	t.Helper()
	how, err := backtest.Infer(infer)
	if err != nil {
		t.Fatal(err)
	}
	return RunOptions{Dir: dir, Out: out, How: how, Shard: 1, Shards: 1}
}

func mustRun(t *testing.T, o RunOptions) *Report {
	t.Helper()
	report, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A replay of archives' bids: its report, its CSV, and the same rows in Parquet.
func TestRun(t *testing.T) {
	dir, out := sampleSet(t), t.TempDir()
	report := mustRun(t, runOptions(t, dir, out))
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/run.txt", text.String())
	golden.File(t, "testdata/run.csv", content(t, out, "results.csv"))
	golden.File(t, "testdata/run.json", content(t, out, "report.json"))

	file, err := os.Open(filepath.Join(out, "results.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := dataset.NewReader(backtest.Results, report.Network, file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []backtest.Result
	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, *row)
	}
	var csv bytes.Buffer
	if err := dataset.WriteCSV(backtest.Results, rows, true, &csv); err != nil {
		t.Fatal(err)
	}
	if csv.String() != content(t, out, "results.csv") {
		t.Errorf("Parquet and CSV differ:\n%s", csv.String())
	}
}

// The parts of a replay in shards are those of a whole one.
func TestRunInShards(t *testing.T) {
	dir, whole := sampleSet(t), t.TempDir()
	mustRun(t, runOptions(t, dir, whole))
	_, want, _ := strings.Cut(content(t, whole, "results.csv"), "\n")
	lines := map[string]bool{}
	for shard := range int64(2) {
		out := t.TempDir()
		o := runOptions(t, dir, out)
		o.Shard, o.Shards = shard+1, 2
		if report := mustRun(t, o); report.Slots == 0 {
			t.Errorf("shard %d has no slots", shard+1)
		}
		_, rows, _ := strings.Cut(content(t, out, "results.csv"), "\n")
		for line := range strings.Lines(rows) {
			if lines[line] {
				t.Errorf("a row in two shards: %s", line)
			}
			lines[line] = true
			if !strings.Contains(want, line) {
				t.Errorf("a row that the whole run has not: %s", line)
			}
		}
	}
	if len(lines) != strings.Count(want, "\n") {
		t.Errorf("%d rows in shards, want %d", len(lines), strings.Count(want, "\n"))
	}
}

// One relay's auctions are replayed as in a whole run.
func TestRunOneRelay(t *testing.T) {
	dir, whole, out := sampleSet(t), t.TempDir(), t.TempDir()
	mustRun(t, runOptions(t, dir, whole))
	o := runOptions(t, dir, out)
	o.Relay = "bloxroute"
	mustRun(t, o)
	rows := content(t, out, "results.csv")
	if strings.Count(rows, "\n") != 2 ||
		!strings.Contains(content(t, whole, "results.csv"), strings.SplitAfter(rows, "\n")[1]) {
		t.Errorf("rows of one relay:\n%s", rows)
	}
}

func TestRunRefuses(t *testing.T) {
	if _, err := Run(context.Background(), runOptions(t, t.TempDir(), "")); err == nil ||
		!strings.Contains(err.Error(), "is no data set: make one with replay import") {
		t.Error(err)
	}
	dir := sampleSet(t)
	damaged, err := filepath.Glob(filepath.Join(dir, "bids", "*", "*.parquet"))
	if err != nil || len(damaged) != 2 {
		t.Fatalf("files of bids: %q, %v", damaged, err)
	}
	if err := os.Truncate(damaged[0], 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), runOptions(t, dir, t.TempDir())); err == nil ||
		!strings.Contains(err.Error(), damaged[0]) {
		t.Errorf("a damaged file gives %v", err)
	}
}

func TestParseShard(t *testing.T) {
	for _, text := range []string{"", "1", "0/2", "3/2", "-1/2", "1/x", "1/2/3"} {
		if _, _, err := ParseShard(text); err == nil {
			t.Errorf("shard %q is taken", text)
		}
	}
	if i, n, err := ParseShard("2/4"); i != 2 || n != 4 || err != nil {
		t.Error(i, n, err)
	}
}
