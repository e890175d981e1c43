package app

import (
	"testing"

	"github.com/gavel-relay/gavel/devnet/plan"
)

// A scenario ends as it must, and no longer does once what it is about is taken away.
func TestRun(t *testing.T) {
	p, err := plan.Parse("honest.yaml", []byte(`
slots: 2
builders:
  - {strategy: naive, key: true}
expect:
  - landed by builder-1 in every slot
  - no payload refused
`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), p, Options{Dir: t.TempDir(), Prove: true})
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
		t.Errorf("%+v", result)
	}
}
