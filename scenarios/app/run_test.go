package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
)

// A scenario ends as it must, and no longer does once what it is about is taken away.
func TestRun(t *testing.T) {
	p, err := scenarios.Parse("honest.yaml", []byte(`
slots: 1
slot: 4s
speed: 1
builders:
  - {strategy: naive, key: true}
expect:
  - landed by builder-1 in slot 1
  - no payload refused
`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), p, Options{Dir: t.TempDir(), Prove: true, Program: serviceProgram})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range result.Variants[0].Verdicts {
		t.Logf("%v %s: %s", v.Met, v.Text, v.Reason)
	}
	for _, v := range result.Proof[0].Verdicts {
		t.Logf("without: %v %s: %s", v.Met, v.Text, v.Reason)
	}
	if !result.OK() {
		t.Error("it did not end as it must, or proves nothing")
	}
	for _, name := range []string{"plan.yaml", "run.json", "facts.ndjson", "verdicts.json"} {
		if info, err := os.Stat(filepath.Join(result.Variants[0].Dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("run folder: %s: %v", name, err)
		}
	}
	// The folder's plan is the plan: it can be run again.
	text, err := os.ReadFile(filepath.Join(result.Variants[0].Dir, "plan.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := scenarios.Parse("again.yaml", text); err != nil || again.Text() != string(text) {
		t.Errorf("the folder's plan: %v", err)
	}
}
