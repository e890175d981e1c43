package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
)

// What was published of a run is right until a run ends otherwise.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "report.json")
	write := func(verdict string) {
		t.Helper()
		if err := os.WriteFile(run,
			[]byte(`{"schema":1,"mode":"white","clauses":[{"id":"REL-STA-01","level":"MUST","verdict":"`+
				verdict+`"}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	p := app.Publication{Dir: dir, Reports: []string{"a-relay=" + run}, Out: &said}
	write("pass")
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a-relay.md", "a-relay.shields.json", "matrix.html"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if stale, err := p.Check(); stale != 0 || err != nil {
		t.Errorf("%d stale at once, %v", stale, err)
	}
	write("fail")
	if stale, err := p.Check(); stale != 1 || err != nil ||
		!strings.Contains(said.String(), "a-relay: REL-STA-01 is fail, and published as pass") {
		t.Errorf("%d stale, %v, said %s", stale, err, said.String())
	}
	for _, bad := range []string{run, "../x=" + run, "x=" + run + "x"} {
		if _, err := (app.Publication{Dir: dir, Reports: []string{bad}, Out: &said}).Check(); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
