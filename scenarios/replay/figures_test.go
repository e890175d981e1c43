package replay

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

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
