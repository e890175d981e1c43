package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
	scenarioapp "github.com/gavel-relay/gavel/scenarios/app"
)

// scenario runs the command with a runner that has every expectation met, or none.
func scenario(t *testing.T, met bool, args ...string) (ran []*scenarios.Plan, options scenarioapp.Options, status int,
	stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	program := &cli.Command{Name: "gavel-lab", Writer: &out, Commands: []*cli.Command{scenarioCommand(
		func(_ context.Context, p *scenarios.Plan, o scenarioapp.Options) (scenarioapp.Result, error) {
			ran, options = append(ran, p), o
			o.Began(p, "", false)
			o.Tell(scenarios.Record{Slot: 1, Actor: "chain", Subject: scenarios.SlotFinished, ID: scenarios.Landed,
				About:    "builder-1",
				ValueWei: "1", Fork: "fulu"})
			verdict := scenarios.Verdict{Text: "landed", Met: met, Reason: "never"}
			return scenarioapp.Result{Name: p.Name,
				Variants: []scenarioapp.VariantResult{{Dir: "runs/x.1", Verdicts: []scenarios.Verdict{verdict}}}}, nil
		},
	)}}
	status = run.Main(program, append([]string{"gavel-lab", "scenario"}, args...), &errs)
	return ran, options, status, out.String(), errs.String()
}

func story(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScenarioRun(t *testing.T) {
	ran, options, status, stdout, stderr := scenario(t, true, "run", "--seed", "7", "--prove", "--variants", "--dir",
		"there", "honest-fulu", story(t, "slots: 1"))
	if status != 0 || len(ran) != 2 || ran[0].Name != "honest-fulu" || ran[1].Name != "story" || ran[0].Seed != 7 ||
		ran[1].Seed != 7 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	if !options.Prove || !options.Variants || options.Dir != "there" {
		t.Errorf("%+v", options)
	}
	for _, want := range []string{"▶ honest-fulu\n", "  slot 1  landed   builder-1", "✓ landed — never",
		"honest-fulu ended as it must", "2 of 2 scenarios"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	_, _, status, stdout, stderr = scenario(t, false, "run", "honest-fulu")
	if status != 1 || !strings.Contains(stdout, "✗ landed") ||
		stderr != "gavel-lab: 1 of 1 scenarios did not end as they must: honest-fulu\n" {
		t.Errorf("not met: status %d, %s%s", status, stdout, stderr)
	}
}

// A part of the stories is proved, and all are run.
func TestScenarioProveShard(t *testing.T) {
	for shard, want := range map[string]string{"1/2": "first third", "2/2": "second", "3/3": "third"} {
		var proved []string
		names := []string{"first", "second", "third"}
		program := &cli.Command{Name: "gavel-lab", Writer: io.Discard, Commands: []*cli.Command{scenarioCommand(
			func(_ context.Context, p *scenarios.Plan, o scenarioapp.Options) (scenarioapp.Result, error) {
				if o.Prove {
					proved = append(proved, names[0])
				}
				names = names[1:]
				return good(), nil
			})}}
		args := []string{"gavel-lab", "scenario", "run", "--prove", "--prove-shard", shard, "honest-fulu", "honest-gloas",
			"honest-fulu"}
		if status := run.Main(program, args, io.Discard); status != 0 || len(names) > 0 ||
			strings.Join(proved, " ") != want {
			t.Errorf("%s: status %d, %s are proved, %d were not run", shard, status, proved, len(names))
		}
	}
}

// With --watch the slots are drawn as the devnet draws them, and summed up.
func TestScenarioWatch(t *testing.T) {
	_, _, status, stdout, stderr := scenario(t, true, "run", "--watch", story(t, "slots: 1"))
	if status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	for _, want := range []string{"slot  fork", "1 wei  builder-1", "1 of 1 payloads delivered and landed"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// What does not end as it must is run again, more slowly; only how that ends counts.
func TestScenarioAgain(t *testing.T) {
	ran, _, status, stdout, _ := scenario(t, false, "run", "--again", "honest-fulu")
	if len(ran) != 2 || ran[1].Speed*3 != ran[0].Speed || status != 1 ||
		!strings.Contains(stdout, "again, at a third of the speed") {
		t.Errorf("status %d after %d runs: %s", status, len(ran), stdout)
	}
	if ran, _, status, _, _ := scenario(t, true, "run", "--again", "honest-fulu"); len(ran) != 1 || status != 0 {
		t.Errorf("a good one ran %d times, status %d", len(ran), status)
	}
}

// Scenarios that this machine cannot run are named with why, and count for nothing: if there is no
// other, the command fails.
func TestScenarioSkipped(t *testing.T) {
	skipped := scenarioapp.Result{Name: "cut", Skipped: "there is no /dev/fuse"}
	for name, c := range map[string]struct {
		results []scenarioapp.Result
		words   string
		status  int
	}{
		"the only one": {[]scenarioapp.Result{skipped},
			"SKIPPED, since this machine cannot run them: honest-fulu: there is no /dev/fuse\n", 1},
		"one of several": {[]scenarioapp.Result{skipped, good()}, "1 of 1 scenarios ended as they must, 1 more SKIPPED\n", 0},
	} {
		var out, errs bytes.Buffer
		args := []string{"gavel-lab", "scenario", "run"}
		for range c.results {
			args = append(args, "honest-fulu")
		}
		program := &cli.Command{Name: "gavel-lab", Writer: &out, Commands: []*cli.Command{scenarioCommand(
			func(_ context.Context, p *scenarios.Plan, o scenarioapp.Options) (result scenarioapp.Result, _ error) {
				o.Began(p, "", false)
				result, c.results = c.results[0], c.results[1:]
				return result, nil
			},
		)}}
		if status := run.Main(program, args, &errs); status != c.status || !strings.Contains(out.String(), c.words) {
			t.Errorf("%s: status %d, %s%s", name, status, &out, &errs)
		}
	}
}

// good is a result that is as it must be.
func good() scenarioapp.Result {
	return scenarioapp.Result{Name: "good",
		Variants: []scenarioapp.VariantResult{{Dir: "runs/x.1", Verdicts: []scenarios.Verdict{{Text: "landed", Met: true}}}}}
}

func TestScenarioMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run"}, "name a scenario or a file: gavel-lab scenario list shows the library"},
		{[]string{"run", "no-such-story"}, `there is no scenario "no-such-story": give a file, or one of `},
		{[]string{"run", "./none.yaml"}, "read scenario: open ./none.yaml: no such file or directory"},
		{[]string{"explain", story(t, "slotz: 1")}, "story.yaml:1: slotz: unknown key of the plan: give any of why, slots"},
		{[]string{"run", "--at-once", "0", "honest-fulu"}, "at-once is 0: give a number from 1 to 16; only 1 can be watched"},
		{[]string{"run", "--at-once", "2", "--watch", "honest-fulu"},
			"at-once is 2: give a number from 1 to 16; only 1 can be watched"},
		{[]string{"run", "--prove-shard", "1/2", "honest-fulu"}, `prove-shard is "1/2": give it with --prove, such as 2/3`},
		{[]string{"run", "--prove", "--prove-shard", "3/2", "honest-fulu"},
			`prove-shard is "3/2": give it with --prove, such as 2/3`},
		{[]string{"replay", "nowhere"}, "read the run: open nowhere/facts.ndjson"},
		{[]string{"show", "nowhere"}, "read the run: open nowhere/plan.yaml"},
		{[]string{"show"}, "name one run folder, as in runs/relay-killed.1"},
	} {
		ran, _, status, _, stderr := scenario(t, true, c.args...)
		if status != 2 || len(ran) > 0 || !strings.HasPrefix(stderr, "gavel-lab: "+c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, stderr)
		}
	}
}

func TestScenarioShows(t *testing.T) {
	if _, _, status, stdout, _ := scenario(t, true, "list"); status != 0 ||
		!strings.Contains(stdout, "equivocating-proposer        A proposer signs two blocks") {
		t.Errorf("list: %d %s", status, stdout)
	}
	if _, _, status, stdout, _ := scenario(t, true, "explain", "honest-fulu"); status != 0 ||
		!strings.HasPrefix(stdout, "honest-fulu\n") {
		t.Errorf("explain: %d %s", status, stdout)
	}
	if _, _, status, stdout, _ := scenario(t, true, "language"); status != 0 || stdout != scenarios.Catalogue() {
		t.Errorf("language: %d", status)
	}
}

// A page shows one run: several at a time have none.
func TestScenarioOnPageAlone(t *testing.T) {
	_, _, status, _, stderr := scenario(t, true, "run", "--web", "--at-once", "2", "honest-fulu")
	if status != 2 || !strings.Contains(stderr, "only 1 can be watched") {
		t.Errorf("status %d, %s", status, stderr)
	}
	_, _, status, _, stderr = scenario(t, true, "run", "--web", "--web-port", "99999", "honest-fulu")
	if status != 2 || !strings.Contains(stderr, "web-port: ") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
