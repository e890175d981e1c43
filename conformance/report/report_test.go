package report_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/internal/golden"
)

// sample is a run with one clause of each kind that a reader meets.
func sample() *report.Report {
	exchange := probe.Exchange{
		AtMs: 12, TookMs: 3, Asked: probe.Message{
			Method: "POST", URL: "http://relay/eth/v1/builder/validators",
			Header: map[string][]string{"Content-Type": {"application/json"}},
			Body:   `[{"it's": "<script>alert(1)</script>"}]`, Bytes: 39,
		},
		Said: &probe.Message{Status: 200, Header: map[string][]string{"Content-Length": {"0"}}},
	}
	one := func(id string, level clauses.Level, v clauses.Verdict, outcome clauses.Outcome, why string) report.Clause {
		return report.Clause{
			Clause: clauses.Clause{
				ID: id, Level: level, Rule: "A rule with a | in it.", Says: []string{"Events 1"}, Source: "description",
				Profile: "relay-proposer",
			},
			Mode: "black", Verdict: v, Why: why,
			Specs: []report.Spec{{Title: "does it", Outcome: outcome, Message: why, Expected: "status 400", Actual: "status 200",
				TookMs: 3, Exchanges: []probe.Exchange{exchange}}},
		}
	}
	atSecond := one("REL-STA-01", clauses.Must, clauses.Pass, clauses.OK, "")
	atSecond.Specs[0].FirstTry, atSecond.Specs[0].Tries = "the slot was\nmissed", 2
	lacks := one("REL-REG-06", clauses.Must, clauses.NotFeature, clauses.Unsupported, "415 to SSZ")
	lacks.Feature = "ssz"
	r := &report.Report{
		Schema: report.Schema, Suite: report.Suite{Version: "abc", Clauses: 5}, Started: "2026-11-21T12:00:00Z", TookMs: 1234,
		Seed: 7, Mode: "black",
		Target: target.Target{Implementation: target.Implementation{Project: "our<relay>", Version: "v1"},
			Relay: &target.Relay{ProposerURL: "http://relay"}},
		Features: report.Features{How: "inferred", Has: []string{"ssz"}, Lacks: map[string]string{"gzip": "status 415"}},
		Clauses: []report.Clause{
			atSecond,
			one("REL-REG-02", clauses.Must, clauses.Fail, clauses.Failed, "expected status 400; got status 200"),
			one("REL-STA-03", clauses.Should, clauses.Warn, clauses.Failed, "expected status 405; got | status 200"),
			lacks,
			one("REL-HDR-01", clauses.Must, clauses.NotSure, clauses.Inconclusive, "needs grey mode"),
		},
		Tries: 6, Stale: []string{"REL-STA-01: passes now"}, Exit: clauses.Nonconformant,
		Reproduce: "gavel-lab conformance run --seed 7",
	}
	r.Summarize()
	return r
}

func TestForms(t *testing.T) {
	for _, format := range report.Formats {
		if format.Name == "html" {
			continue // TestPage looks at it
		}
		var b bytes.Buffer
		if err := format.Write(sample(), &b); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+format.File, b.String())
	}
}

func TestAReportIsReadAgain(t *testing.T) {
	var b bytes.Buffer
	if err := sample().JSON(&b); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := sample().Table(&first); err != nil {
		t.Fatal(err)
	}
	if err := again.Table(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("read again it is\n%s", second.String())
	}
}

// CI is red where the run is: a failure that counts is a failure, and a MUST without a verdict is
// an error. What was not judged for a good reason is skipped.
func TestJUnitIsRedWhereTheRunIs(t *testing.T) {
	var b bytes.Buffer
	if err := sample().JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var s struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(b.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Tests != 5 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 2 {
		t.Errorf("%+v, want 5 tests, 1 failure, 1 error and 2 skipped", s)
	}
}

func TestDiff(t *testing.T) {
	older, newer := sample(), sample()
	newer.Clauses[0].Verdict = clauses.Fail
	newer.Clauses[1].Verdict = clauses.Pass
	newer.Clauses[2].Why = "another reason"
	newer.Clauses[4].Verdict = clauses.Pass
	var kinds []string
	for _, c := range report.Diff(older, newer) {
		kinds = append(kinds, c.ID+" "+c.Kind)
	}
	want := "REL-STA-01 broken, REL-REG-02 fixed, REL-STA-03 reason, REL-HDR-01 changed"
	if got := strings.Join(kinds, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(report.Diff(older, older)) != 0 {
		t.Error("a report differs from itself")
	}
}

// A line of the report can be put into a shell as it is.
func TestCurlIsQuoted(t *testing.T) {
	curl := sample().Clauses[0].Specs[0].Exchanges[0].Curl()
	if !strings.Contains(curl, `--data-binary '[{"it'\''s"`) {
		t.Errorf("%s", curl)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := sample().JSON(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":1,"clauses":[{"id":"REL-STA-01","verdict":"pass","specs":[{"exchanges":[{"request":{}}]}]}]}`))
	f.Add([]byte(`{"schema":1,"clauses":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := report.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		r.Summarize()
		for _, format := range report.Formats {
			if err := format.Write(r, new(bytes.Buffer)); err != nil {
				t.Errorf("%s: %v", format.Name, err)
			}
		}
	})
}
