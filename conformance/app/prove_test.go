package app_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/target"
)

// The right target must pass before anything can be proven. What came to no verdict is asked once
// more, and nothing else is.
func TestBaseline(t *testing.T) {
	const id = "REL-STA-01"
	reporting := func(verdict, outcome string) string {
		return fmt.Sprintf(
			`{"schema":1,"clauses":[{"id":"%s","verdict":"%s","why":"so","specs":[{"name":"x","state":"%s"}]}]}`, id,
			verdict, outcome)
	}
	passes, fails, unsure := reporting("pass", "passed"), reporting("fail", "failed"), reporting("inconclusive",
		"inconclusive")
	for _, row := range []struct {
		name    string
		reports []string
		want    string
		asked   int
	}{
		{"passes", []string{passes}, "[]", 1},
		{"fails", []string{fails, passes}, "[" + id + " is fail so]", 1},
		{"no verdict, then passes", []string{unsure, passes}, "[]", 2},
		{"no verdict, then fails", []string{unsure, fails}, "[" + id + " is fail so]", 2},
		{"no verdict twice", []string{unsure, unsure}, "[" + id + " is inconclusive so]", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, report := range row.reports {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("report", i)), []byte(report), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			proof := app.Proof{
				Program: suiteThatReports(t, dir), Target: &target.Target{Relay: &target.Relay{ProposerURL: "http://relay"}},
				Only: []string{mutantOf(t, id)},
			}
			wrong, err := proof.Baseline(t.Context())
			if err != nil || fmt.Sprint(wrong) != row.want {
				t.Errorf("%v, %v; want %s", wrong, err, row.want)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil || strings.Count(string(asked), "\n") != row.asked {
				t.Errorf("asked %d times, want %d", strings.Count(string(asked), "\n"), row.asked)
			}
		})
	}
}

// What is asked about a fork needs a world in which there is one; the other clauses are judged in a
// world of one fork.
func TestBaselineAcrossAFork(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("report", i)), []byte(`{"schema":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	proof := app.Proof{
		Program: suiteThatReports(t, dir), Target: &target.Target{Relay: &target.Relay{ProposerURL: "http://relay"}},
		Only: []string{mutantOf(t, "REL-STA-01"), mutantOf(t, "REL-FRK-05"), mutantOf(t, "GLO-FRK-01")},
	}
	if _, err := proof.Baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	runs := strings.Split(strings.TrimSpace(string(asked)), "\n")
	if err != nil || len(runs) != 3 {
		t.Fatalf("ran %q, %v; want three runs", runs, err)
	}
	for _, run := range runs {
		across, toGloas := strings.Contains(run, "--fork electra --fork-at fulu@"),
			strings.Contains(run, "--fork fulu --fork-at gloas@")
		if across != strings.Contains(run, "REL-FRK-05") || toGloas != strings.Contains(run, "GLO-FRK-01") ||
			(across || toGloas) == strings.Contains(run, "REL-STA-01") {
			t.Errorf("ran %s", run)
		}
	}
}

// suiteThatReports is a program that hands out the folder's reports, one a run.
func suiteThatReports(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "suite")
	script := `#!/bin/sh
run=$(cat "` + dir + `/asked" 2>/dev/null | wc -l)
echo "$@" >>"` + dir + `/asked"
while [ "$1" != --out ]; do shift; done
cp "` + dir + `/report$run" "$2/report.json"
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { // it is to be run
		t.Fatal(err)
	}
	return program
}

// mutantOf is a mutant that a clause must kill.
func mutantOf(t *testing.T, clause string) string {
	t.Helper()
	for _, m := range mutant.All() {
		if len(m.MustKill) == 1 && m.MustKill[0] == clause {
			return m.ID
		}
	}
	t.Fatalf("no mutant is only for %s", clause)
	return ""
}

// A mutant that survives its own clause is killed if a model fails and names this clause. A model
// that fails for another reason does not count, and none is asked about a mutant that is killed.
func TestModelsAreAskedAboutSurvivors(t *testing.T) {
	const id = "REL-STA-01"
	reporting := func(clause, outcome, message string) string {
		return fmt.Sprintf(
			`{"schema":1,"clauses":[{"id":"%s","verdict":"pass","specs":[{"name":"x","state":"%s","message":"%s"}]}]}`,
			clause, outcome, message)
	}
	for _, row := range []struct {
		name, own, model string
		killed, asked    bool
	}{
		{"killed by its clause", reporting(id, "failed", "so"), reporting("REL-MOD-01", "passed", ""), true, false},
		{"named by a model", reporting(id, "passed", ""), reporting("REL-MOD-01", "failed", id+": so"), true, true},
		{"another one named", reporting(id, "passed", ""), reporting("REL-MOD-01", "failed", "REL-STA-02: so"),
			false, true},
		{"no model fails", reporting(id, "passed", ""), reporting("REL-MOD-01", "passed", id+" is named"), false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, report := range map[string]string{"own": row.own, "model": row.model,
				"right": reporting(id, "passed", "")} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(report), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(dir, "suite")
			script := `#!/bin/sh
report=right
case "$*" in
*--mutant*REL-MOD-01*) report=model; touch "` + dir + `/asked" ;;
*--mutant*) report=own ;;
esac
while [ "$1" != --out ]; do shift; done
cp "` + dir + `/$report" "$2/report.json"
`
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil { // it is to be run
				t.Fatal(err)
			}
			proof := app.Proof{Program: program, Target: &target.Target{Relay: &target.Relay{ProposerURL: "http://relay"}},
				Only: []string{mutantOf(t, id)}, Out: io.Discard}
			proven, err := proof.Prove(t.Context())
			if err != nil || len(proven.Killed) > 0 != row.killed || len(proven.Survived) == 0 != row.killed {
				t.Errorf("%+v, %v", proven, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "asked")); (err == nil) != row.asked {
				t.Errorf("models were asked: %t", err == nil)
			}
		})
	}
}
