package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// reported is a run with one clause of each verdict that can be expected, and one that passes.
func reported() *report.Report {
	clause := func(id string, level clauses.Level, v clauses.Verdict, outcome clauses.Outcome,
		message string) report.Clause {
		return report.Clause{Clause: clauses.Clause{ID: id, Level: level}, Verdict: v, Why: message,
			Specs: []report.Spec{{Title: "does it", Outcome: outcome, Message: message}}}
	}
	flaky := clause("REL-STA-03", clauses.Must, clauses.Flaky, clauses.OK, "")
	flaky.Specs[0].FirstTry = "expected a bid; got status 204"
	return &report.Report{Clauses: []report.Clause{
		clause("REL-STA-01", clauses.Must, clauses.Fail, clauses.Failed, "expected status 200; got status 404 at 1763812345"),
		clause("REL-STA-02", clauses.Should, clauses.Warn, clauses.Failed, "0xabc is no JSON"),
		flaky,
		clause("REL-HDR-01", clauses.Must, clauses.NotSure, clauses.Inconclusive, "needs grey mode"),
		clause("REL-HDR-02", clauses.Must, clauses.Pass, clauses.OK, ""),
	}}
}

// What is written from a run is met by the same run, and by one whose failures differ in nothing
// but times and hashes.
func TestWrittenExpectationsAreMet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "expected.yaml")
	if err := WriteExpected(name, reported(), "known since the last release", "2027-01-31"); err != nil {
		t.Fatal(err)
	}
	list, err := LoadExpected(name)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range list {
		said = append(said, e.Clause+" "+e.Expect+" "+e.Match)
	}
	want := []string{"REL-STA-01 fail expected status 200; got status 404 at", "REL-STA-02 warn is no JSON",
		"REL-STA-03 flaky expected a bid; got status 204", "REL-HDR-01 inconclusive needs grey mode"}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("wrote %q, want %q", said, want)
	}
	for _, e := range list {
		if e.Reason != "known since the last release" || e.Until != "2027-01-31" {
			t.Errorf("%s: reason %q until %q", e.Clause, e.Reason, e.Until)
		}
	}
}

func TestExpectationsAreNotWrittenWithoutReasonAndEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "expected.yaml")
	for _, row := range [][2]string{{"", "2027-01-31"}, {"known", ""}, {"known", "soon"}} {
		if WriteExpected(name, reported(), row[0], row[1]) == nil {
			t.Errorf("written with reason %q until %q", row[0], row[1])
		}
		if _, err := os.Stat(name); err == nil {
			t.Error("there is a file")
		}
	}
}

// A finding in other people's software is true only if its place can be looked up: each expectation
// names a source file, or another clause's finding of the same cause.
func TestFindingsInForeignSoftwareNameTheirPlace(t *testing.T) {
	files, err := filepath.Glob("../../tools/*/expected.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		list, err := LoadExpected(name)
		if err != nil {
			t.Fatal(err)
		}
		placed := map[string]bool{}
		for _, e := range list {
			placed[e.Clause] = placed[e.Clause] || strings.Contains(e.Reason, ".go")
		}
		for _, e := range list {
			other, _, _ := strings.Cut(strings.TrimPrefix(e.Reason, "as "), ":")
			other, _, _ = strings.Cut(other, ",")
			if !strings.Contains(e.Reason, ".go") && !placed[other] {
				t.Errorf("%s: %s has no place in the sources: %q", name, e.Clause, e.Reason)
			}
		}
	}
}
