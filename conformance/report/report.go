// Package report writes the results of a run: report.json, and what is made from it — a page for
// people, JUnit for CI, a badge, Markdown for a pull request, and a table for the terminal.
//
//	results + verdicts ─▶ Report ─▶ report.json ─▶ HTML, JUnit, SVG, Markdown, table, difference of two runs
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Schema is the version of report.json. A new field does not change it.
const Schema = 1

// Report is the content of report.json.
type Report struct {
	Schema  int    `json:"schema"`
	Suite   Suite  `json:"suite"`
	Started string `json:"started"` // RFC 3339
	TookMs  int64  `json:"took_ms"`
	Seed    int64  `json:"seed"`
	Mode    string `json:"mode"`
	// Fork is that of the world; empty without one.
	Fork string `json:"fork,omitempty"`
	// Target is the target without users and passwords in addresses.
	Target   target.Target `json:"target"`
	Features Features      `json:"features"`
	// Unusable has the interfaces that could not be judged at all, each with the reason.
	Unusable map[string]string `json:"unusable,omitempty"`
	Profiles []Profile         `json:"profiles"`
	Clauses  []Clause          `json:"clauses"`
	Coverage Coverage          `json:"coverage"`
	// Schemas has the operations whose answers were compared with their schemas, in all exchanges.
	Schemas []SchemaOperation `json:"schemas,omitempty"`
	// Combinations are the plans of combinations, and how much of each was judged.
	Combinations []Combinations `json:"combinations,omitempty"`
	// Tries is how many runs of specs the verdicts took: as many as there are specs, if none was
	// repeated.
	Tries int `json:"tries"`
	// Stale are expectations that matched no failure.
	Stale []string `json:"stale_expectations"`
	// Exit is the exit status of the run.
	Exit int `json:"exit"`
	// Reproduce is the command line that repeats the run.
	Reproduce string `json:"reproduce"`
}

// Suite is the suite that judged: its version, and how many clauses its catalogue has.
type Suite struct {
	Version string `json:"version"`
	Clauses int    `json:"clauses"`
}

// Features are the optional features that the target has and lacks, and how the suite knows.
type Features struct {
	// How is declared or inferred.
	How   string            `json:"how"`
	Has   []string          `json:"has"`
	Lacks map[string]string `json:"lacks"` // with the reason
}

// Profile counts the verdicts on the clauses of a profile.
type Profile struct {
	// Lacks are the features whose MUSTs were not judged, because the target does not have them.
	Lacks   []string                `json:"lacks,omitempty"`
	Name    string                  `json:"name"`
	Verdict clauses.ProfileVerdict  `json:"verdict"`
	Must    map[clauses.Verdict]int `json:"must"`
	Other   map[clauses.Verdict]int `json:"other"`
}

// Musts returns how many MUSTs pass, and how many there are.
func (p Profile) Musts() (passed, all int) {
	for v, n := range p.Must {
		all += n
		if v == clauses.Pass || v == clauses.PassLenient {
			passed += n
		}
	}
	return passed, all
}

// Headline is the verdict on the profile, with the MUSTs that it says nothing about.
func (p Profile) Headline() string {
	var left []string
	for _, v := range []clauses.Verdict{clauses.NotFeature, clauses.NotSure, clauses.NotRun} {
		if n := p.Must[v]; n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, v))
			if v == clauses.NotFeature {
				left[len(left)-1] += " (" + strings.Join(p.Lacks, ", ") + ")"
			}
		}
	}
	if len(left) == 0 || p.Verdict == clauses.ProfileNotRun {
		return string(p.Verdict)
	}
	return string(p.Verdict) + "; not judged: " + strings.Join(left, ", ")
}

// Clause is the verdict on a clause and what led to it.
type Clause struct {
	clauses.Clause

	Mode    string          `json:"mode"`
	Verdict clauses.Verdict `json:"verdict"`
	Why     string          `json:"why,omitempty"`
	// Expected says that it could not be judged, as an expectation says.
	Expected bool   `json:"expected,omitempty"`
	Specs    []Spec `json:"specs"`
	// Mutants are the ids of the mutants that show that the suite notices a breach.
	Mutants []string `json:"mutants_killed,omitempty"`
}

// Spec is the result of one test.
type Spec struct {
	Title    string          `json:"name"`
	Outcome  clauses.Outcome `json:"state"`
	Message  string          `json:"message,omitempty"`
	Expected string          `json:"expected,omitempty"`
	Actual   string          `json:"actual,omitempty"`
	// FirstTry is why a first try failed or was inconclusive; this is the last of Tries then.
	FirstTry  string           `json:"first_try,omitempty"`
	Tries     int              `json:"tries,omitempty"`
	TookMs    int64            `json:"ms"`
	Exchanges []probe.Exchange `json:"exchanges,omitempty"`
}

// Coverage counts clauses of the target's interfaces: all of the catalogue, those that specs of the
// run tested, and those with a mutant.
type Coverage struct {
	Clauses int `json:"clauses"`
	Tested  int `json:"tested"`
	Proven  int `json:"proven"`
}

// Read reads a report.json.
func Read(from io.Reader) (*Report, error) {
	r := new(Report)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("read the report: it has schema %d, and this program reads %d", r.Schema, Schema)
	}
	for i, c := range r.Clauses {
		if len(c.ID) < 10 || !slices.Contains(clauses.Verdicts, c.Verdict) {
			return nil, fmt.Errorf("read the report: clause %d is %.20q with verdict %.20q", i, c.ID, c.Verdict)
		}
	}
	return r, nil
}

// ReadFile reads a report.json from disk.
func ReadFile(name string) (*Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer file.Close()
	return Read(file)
}

// Summarize fills in profiles and coverage from the clauses.
func (r *Report) Summarize() {
	r.Profiles, r.Coverage = nil, Coverage{}
	for _, name := range clauses.Profiles {
		p := Profile{Name: name, Must: map[clauses.Verdict]int{}, Other: map[clauses.Verdict]int{}}
		var musts []clauses.Verdict
		for _, c := range r.Clauses {
			switch {
			case c.Profile != name || c.Retired != "":
			case c.Level == clauses.Must && c.Disputed == "":
				p.Must[c.Verdict]++
				musts = append(musts, c.Verdict)
				if c.Verdict == clauses.NotFeature && !slices.Contains(p.Lacks, c.Feature) {
					p.Lacks = append(p.Lacks, c.Feature)
				}
			default:
				p.Other[c.Verdict]++
			}
		}
		if p.Verdict = clauses.JudgeProfile(musts); p.Verdict != clauses.ProfileNotRun || len(p.Must)+len(p.Other) > 0 {
			r.Profiles = append(r.Profiles, p)
		}
	}
	for _, c := range r.Clauses {
		if !r.Target.Has(c.Interface()) {
			continue
		}
		r.Coverage.Clauses++
		if len(c.Specs) > 0 {
			r.Coverage.Tested++
		}
		if len(c.Mutants) > 0 {
			r.Coverage.Proven++
		}
	}
}

// Count returns how many clauses have a verdict.
func (r *Report) Count(v clauses.Verdict) (n int) {
	for _, c := range r.Clauses {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Ran says whether anything of the profile was judged.
func (p Profile) Ran() bool {
	for _, counts := range []map[clauses.Verdict]int{p.Must, p.Other} {
		for v, n := range counts {
			if v != clauses.NotRun && n > 0 {
				return true
			}
		}
	}
	return false
}

// Failures returns the clauses that somebody should look at, the worst verdicts first. Among them
// are MUSTs that could not be judged.
func (r *Report) Failures() (list []Clause) {
	for _, v := range []clauses.Verdict{clauses.SuiteError, clauses.Fail, clauses.XPass, clauses.NotSure, clauses.Warn} {
		for _, c := range r.Clauses {
			if c.Verdict == v && (v != clauses.NotSure || c.open()) {
				list = append(list, c)
			}
		}
	}
	return list
}
