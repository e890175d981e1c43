package replay

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/figures"
)

// The auctions of make replay-demo: the block that bloXroute delivered leads in the replay, too,
// and the figures show it.
func TestDemo(t *testing.T) {
	const demo = "testdata/demo/"
	dir, out := t.TempDir(), t.TempDir()
	o := options(dir)
	o.Relay = "bloxroute"
	imported(t, o, demo+"bloxroute-7613244.json.gz", demo+"delivered-7613244.json")
	o.Relay = "flashbots"
	imported(t, o, demo+"flashbots-7567001.json.gz")
	text, err := os.ReadFile(demo + "what-if.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plans, err := scenarios.ParseWhatIf("what-if.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	draw := FigureOptions{RunOptions: runOptions(t, dir, out), To: out}
	for _, plan := range plans {
		draw.Variants = append(draw.Variants, backtest.NewVariant(plan))
	}
	if _, err := Figures(context.Background(), draw); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"results.csv":            "60154123185870503,0,same,",
		"bid-curve.csv":          "\ndelivered,2215,60154123185870503,0xacb407cfb554255d",
		"arrival-of-winners.csv": "\ndelivered,2215,1,1\n",
		"what-if.csv":            "\n\"cancel=off,ask=2s\",2,",
		"index.html":             "<h2>Bid curve of slot 7613244 at bloxroute</h2>",
	} {
		if got := content(t, out, name); !strings.Contains(got, want) {
			t.Errorf("%s has no %q:\n%.3000s", name, want, got)
		}
	}
}

// A folder of figures has a page that names all of them, and is the same each time.
func TestFigures(t *testing.T) {
	dir, out := sampleSet(t), t.TempDir()
	plans, err := scenarios.ParseWhatIf("w.yaml", []byte("ask: [0ms, 1s]\ncancellations: $c\nvary: {c: [off, on]}"))
	if err != nil {
		t.Fatal(err)
	}
	o := FigureOptions{RunOptions: runOptions(t, dir, ""), To: out}
	for _, plan := range plans {
		o.Variants = append(o.Variants, backtest.NewVariant(plan))
	}
	all, err := Figures(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	page := content(t, out, "index.html")
	for _, f := range all {
		if !strings.Contains(page, `<section id="`+f.ID+`">`) {
			t.Errorf("the page does not have %s", f.ID)
		}
		if f.Missing == "" && (!strings.Contains(content(t, out, f.ID+".svg"), "</svg>") ||
			!strings.HasPrefix(content(t, out, f.ID+".png"), "\x89PNG") ||
			!strings.HasPrefix(content(t, out, f.ID+".csv"), strings.Join(f.Header, ","))) {
			t.Errorf("%s has no picture or no table", f.ID)
		}
	}
	if rows := content(t, out, "what-if.csv"); strings.Count(rows, "\n") != 5 {
		t.Errorf("two variants at two moments are\n%s", rows)
	}
	first := tree(t, out)
	if _, err := Figures(context.Background(), o); err != nil || !maps.Equal(first, tree(t, out)) {
		t.Errorf("the second time the files differ: %v", err)
	}

	o.Variants = nil // and what cannot be drawn any more does not stay
	if _, err := Figures(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(out, "what-if.*")); len(left) > 0 || err != nil {
		t.Errorf("files of an earlier run are left: %q, %v", left, err)
	}
}

// The tables that a replay does not read are drawn, of the relay that is wanted, and a data set
// without them says so. A slot that two sources tell of counts once.
func TestFiguresOfTables(t *testing.T) {
	folder := runFolder(t, content(t, "../testdata/facts.ndjson")+orderFacts(), "")
	o := runOf(t, folder)
	imported(t, o, folder)
	row := "slot,slot_start,source,fork,outcome,because,relay,proposer_pubkey,builder_pubkey,block_hash,parent_hash," +
		"block_number,gas_used,num_tx,value_wei,paid_wei\n2,,second,,landed,,,,,,,,,,,\n9,,second,,landed,,,,,,,,,,,\n"
	imported(t, o, write(t, "slots.csv", []byte(row)))
	for relay, want := range map[string]string{
		"":        "\n200,1,1,0,0,1.000000,0.206549,1.000000\n,1,0,0,0,0.000000,0.000000,0.793451\n",
		"relay-2": "No request for a header is known of any of the 2 slots.",
	} {
		draw := FigureOptions{RunOptions: runOptions(t, o.Into, ""), To: t.TempDir()}
		draw.Relay = relay
		all, err := Figures(t.Context(), draw)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			text := f.Missing
			if text == "" {
				text = content(t, draw.To, f.ID+".csv")
			}
			switch f.ID {
			case "missed":
				if !strings.HasSuffix(text, want) {
					t.Errorf("%q: %s", relay, text)
				}
			case "orders":
				if !strings.Contains(text, "\nall,landed,1,0.500000\n") || !strings.Contains(text,
					"\nprivate-transaction,matched,1,1.000000\n") {
					t.Errorf("%q: %s", relay, text)
				}
			case "stages", "shading":
				if f.Missing == "" {
					t.Errorf("%q: %s is drawn of nothing", relay, f.ID)
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var part figures.Part
	if err := addTables(ctx, RunOptions{Dir: o.Into}, o.Network, &part); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	broken, err := filepath.Glob(filepath.Join(o.Into, "requests", "day=*", "*.parquet"))
	if err != nil || len(broken) != 1 {
		t.Fatal(broken, err)
	}
	if err := os.WriteFile(broken[0], []byte("PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	draw := FigureOptions{RunOptions: runOptions(t, o.Into, ""), To: t.TempDir()}
	if _, err := Figures(t.Context(), draw); err == nil || !strings.Contains(err.Error(), broken[0]) {
		t.Errorf("of a file that is broken: %v", err)
	}
}
